// Command goestimator trains, evaluates and serves models described by a config file.
package main

import "github.com/goestimator/goestimator/cmd/cli"

func main() { cli.Main() }
