// Command goestimator trains, evaluates and serves models that a config file describes.
package main

import "github.com/goestimator/goestimator/cmd/cli"

func main() { cli.Main() }
