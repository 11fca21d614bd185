package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/go-echarts/go-echarts/v2/opts"
	"github.com/goestimator/goestimator/cmd/cli/internal/events"
)

// linear is the axis of most charts.
var linear = opts.YAxis{Type: "value", Scale: opts.Bool(true)}

// isLoss reports whether a tag is of a loss: loss, average_loss, head/loss.
func isLoss(tag string) bool {
	words := strings.FieldsFunc(strings.ToLower(tag), func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.Contains(words, "loss") && !slices.Contains(words, "scale")
}

// decades is how many times its least value a loss has at its greatest where the
// axis is logarithmic.
const decades = 100

// lossAxis is a logarithmic axis where a loss spans decades, which tells what it
// leaves out. Zeros have no place on it, and a loss that is negative anywhere is
// on a linear one; what is not finite does not count.
func lossAxis(tags []events.Tag) (y opts.YAxis, logarithmic bool) {
	least, most, zeros := math.Inf(1), 0.0, 0
	for _, t := range tags {
		for _, p := range t.Points {
			switch x := p.Scalar; {
			case math.IsNaN(x) || math.IsInf(x, 0):
			case x < 0:
				return linear, false
			case x == 0:
				zeros++
			default:
				least, most = min(least, x), max(most, x)
			}
		}
	}
	if most/least < decades { // or there is nothing positive
		return linear, false
	}
	name := "logarithmic: positive values only"
	if zeros > 0 {
		name = fmt.Sprintf("logarithmic: positive only, zeros left out: %d", zeros)
	}
	return opts.YAxis{Type: "log", Name: name, NameLocation: "middle", NameGap: 76}, true
}
