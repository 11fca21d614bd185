package textvalue_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/platform/textvalue"
)

func ExampleReading_Parse() {
	fmt.Println(textvalue.Reading{Part: textvalue.Number}.Parse([]byte("$1,234.50")))
	fmt.Println(textvalue.Reading{Part: textvalue.Month, Order: textvalue.DMY}.Parse([]byte("31.12.2024")))
	fmt.Println(textvalue.Reading{Part: textvalue.Days}.Parse([]byte("soon")))
	// Output:
	// 1234.5
	// 12
	// NaN
}
