package plot

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
)

func TestPicturesAreWellFormed(t *testing.T) {
	for name, p := range map[string]Panel{
		"empty":    {},
		"escaped":  {Title: "a < b & c", Lines: []Line{{Name: "<>", Points: [][2]float64{{1, 2}, {10, 3}}, Rings: [][2]float64{{2, 9}}}}},
		"point":    {Lines: []Line{{Name: "one", Points: [][2]float64{{1, 1}}}}},
		"negative": {Lines: []Line{{Name: "one", Points: [][2]float64{{-1, 1}}}}},
		"nan":      {Lines: []Line{{Name: "one", Points: [][2]float64{{1, math.NaN()}, {2, math.Inf(1)}}}}},
	} {
		svg := string(SVG(p, p))
		d := xml.NewDecoder(strings.NewReader(svg))
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, svg)
			}
		}
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("%s: %s", name, svg)
		}
	}
}

func ExampleSVG() {
	svg := SVG(Panel{Title: "seconds over workers", Lines: []Line{{Name: "ring", Points: [][2]float64{{1, 1}, {10, 2}, {100, 2.5}}}}})
	fmt.Println(strings.Count(string(svg), "<circle"), "points")
	// Output: 3 points
}
