// Command gen writes the assembly of internal/runtime/kernels with avo. It is a separate module, so that the library does not
// depend on the generator; internal/runtime/kernels/generate.go has the commands.
package main

import (
	"flag"
	"log"
	"maps"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/build"
)

// sets are the families of kernels.
var sets = map[string]func(){
	"gemm32":   func() { gemm(single) },
	"gemm64":   func() { gemm(double) },
	"vec32":    func() { vectors(single); pause() },
	"vec64":    func() { vectors(double) },
	"random":   random,
	"jpeg":     jpeg,
	"integers": integers,
	"half":     half,
}

func main() {
	names := strings.Join(slices.Sorted(maps.Keys(sets)), ", ")
	set := flag.String("set", "", "family of kernels: "+names)
	flag.Parse()
	build.ConstraintExpr("amd64,!noasm")
	emit := sets[*set]
	if emit == nil {
		log.Fatalf("unknown set %q: expected one of %s", *set, names)
	}
	emit()
	build.Generate()
	if *set == "half" {
		if err := encode(flag.Lookup("out").Value.String()); err != nil {
			log.Fatal(err)
		}
	}
}
