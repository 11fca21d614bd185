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

// isLoss reports whether a tag names a loss, such as loss, average_loss or head/loss.
func isLoss(tag string) bool {
	words := strings.FieldsFunc(strings.ToLower(tag), func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.Contains(words, "loss") && !slices.Contains(words, "scale")
}

// decades is the least ratio between the greatest and the least value of a loss
// that makes the axis logarithmic.
const decades = 100

// lossAxis returns a logarithmic axis if a loss spans decades; the axis name says what is
// left out, such as zeros. A loss with a negative value is drawn on a linear axis.
// Values that are not finite do not count.
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
	if most/least < decades { // also if no value is positive
		return linear, false
	}
	name := "logarithmic: positive values only"
	if zeros > 0 {
		name = fmt.Sprintf("logarithmic: positive only, zeros left out: %d", zeros)
	}
	return opts.YAxis{Type: "log", Name: name, NameLocation: "middle", NameGap: 76}, true
}
