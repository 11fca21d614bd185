package echarts_test

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/report/echarts"
)

// The script is the published build.
func Example() {
	fmt.Println(strings.Contains(echarts.Script, "Apache Software Foundation"))
	// Output: true
}
