package cublaslt_test

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/cublaslt"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
)

func ExampleOpen() {
	c, err := fake.New(fake.Default).Open(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = cublaslt.Open(c, nil)
	fmt.Println(errors.Is(err, driver.ErrInvalid))
	// Output: true
}
