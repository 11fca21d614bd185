// Command gen writes the assembly of internal/kernels with avo. It is a module of its own, so that the library does not
// depend on the generator; internal/kernels/generate.go holds the commands.
package main

import (
	"flag"
	"log"

	"github.com/mmcloughlin/avo/build"
)

func main() {
	set := flag.String("set", "", "family of kernels: gemm32, gemm64, vec32 or vec64")
	flag.Parse()
	build.ConstraintExpr("amd64,!noasm")
	sets := map[string]func(){
		"gemm32": func() { gemm(single) },
		"gemm64": func() { gemm(double) },
		"vec32":  func() { vectors(single); pause() },
		"vec64":  func() { vectors(double) },
	}
	emit := sets[*set]
	if emit == nil {
		log.Fatalf("unknown set %q: expected gemm32, gemm64, vec32 or vec64", *set)
	}
	emit()
	build.Generate()
}
