// Command duckdb is goestimator with the duckdb driver for inputs of format sql.
package main

import (
	_ "github.com/duckdb/duckdb-go/v2" // the driver

	"github.com/goestimator/goestimator/cmd/cli"
)

func main() { cli.Main() }
