package violation_test

import (
	"fmt"

	"github.com/goestimator/goestimator/runconfig/violation"
)

func Example() {
	var input, all violation.List
	input.OneOf("shard", "row", "auto", "files", "rows", "off")
	input.Require(false, "columns[0].name", "", "expected a name")
	all.Require(false, "max_steps", -1, "expected > 0")
	all.Include("train.input", input.Err())
	fmt.Println(all.Err())
	// Output:
	// invalid configuration: 3 violations
	//   max_steps: got -1, expected > 0
	//   train.input.shard: got "row", expected one of auto, files, rows, off
	//   train.input.columns[0].name: got "", expected a name
}
