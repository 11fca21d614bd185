// Command gen writes the assembly of internal/runtime/kernels with avo. It is a module of its own, so that the library does not
// depend on the generator; internal/runtime/kernels/generate.go holds the commands.
package main

import (
	"flag"
	"log"

	"github.com/mmcloughlin/avo/build"
)

func main() {
	set := flag.String("set", "", "family of kernels: gemm32, gemm64, vec32, vec64, random, jpeg or half")
	flag.Parse()
	build.ConstraintExpr("amd64,!noasm")
	sets := map[string]func(){
		"gemm32": func() { gemm(single) },
		"gemm64": func() { gemm(double) },
		"vec32":  func() { vectors(single); pause() },
		"vec64":  func() { vectors(double) },
		"random": random,
		"jpeg":   jpeg,
		"half":   half,
	}
	emit := sets[*set]
	if emit == nil {
		log.Fatalf("unknown set %q: expected gemm32, gemm64, vec32, vec64, random, jpeg or half", *set)
	}
	emit()
	build.Generate()
	if *set == "half" {
		if err := encode(flag.Lookup("out").Value.String()); err != nil {
			log.Fatal(err)
		}
	}
}
