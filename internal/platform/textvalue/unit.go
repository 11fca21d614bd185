package textvalue

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
)

// Scale is a unit from which numbers are converted. Pattern matches its names, in any case of letters.
type Scale struct {
	Pattern string
	Factor  float64 // by which a number in this unit is multiplied
}

// scales are the units that can be converted, by target unit. No two patterns for a target match the same text, since exports try them in
// another order.
var scales = map[string][]Scale{
	"one": {{`k|thousand`, 1e3}, {`m|mn|mio|mil|mln|millions?`, 1e6}, {`b|bn|bln|billions?`, 1e9}, {`t|tn|trillions?`, 1e12}},
	"kg": {{`kgs?|kilos?|kilograms?`, 1}, {`g|grs?|grams?`, 1e-3}, {`mg|milligrams?`, 1e-6}, {`t|tons?|tonnes?`, 1e3},
		{`lbs?|pounds?`, 0.45359237}, {`ozs?|ounces?`, 0.028349523125}},
	"m": {{`m|met(?:er|re)s?`, 1}, {`km|kms|kilomet(?:er|re)s?`, 1e3}, {`cm|centimet(?:er|re)s?`, 1e-2}, {`mm|millimet(?:er|re)s?`, 1e-3},
		{`in|inch(?:es?)?`, 0.0254}, {`ft|foot|feet`, 0.3048}, {`yds?|yards?`, 0.9144}, {`mi|miles?`, 1609.344}},
	"l":   {{`l|lit(?:er|re)s?`, 1}, {`ml|millilit(?:er|re)s?`, 1e-3}, {`cl`, 1e-2}, {`dl`, 0.1}, {`hl`, 100}},
	"day": {{`d|days?`, 1}, {`h|hrs?|hours?`, 1. / 24}, {`mins?|minutes?`, 1. / 1440}, {`s|secs?|seconds?`, 1. / 86400}, {`w|wks?|weeks?`, 7}, {`mo|mos|mths?|months?`, 365.25 / 12}, {`y|yrs?|years?`, 365.25}},
	"MB":  {{`mi?b`, 1}, {`ki?b`, 1. / 1024}, {`gi?b`, 1024}, {`ti?b`, 1024 * 1024}},
	"MHz": {{`mhz`, 1}, {`khz`, 1e-3}, {`ghz`, 1e3}, {`hz`, 1e-6}},
}

// UnitNames are the units that numbers can be converted into, sorted.
func UnitNames() []string { return slices.Sorted(maps.Keys(scales)) }

// ScalesOf returns the units that can be converted into unit, nil for an unknown one.
func ScalesOf(unit string) []Scale {
	list := slices.Clone(scales[unit])
	for i := range list {
		list[i].Pattern = gap + `(?i:` + list[i].Pattern + `)\.?` + gap
	}
	return list
}

// NoUnit matches the text after a number without a unit, which is not converted.
const NoUnit = gap

var scaleREs = func() map[string][]*regexp.Regexp {
	out := map[string][]*regexp.Regexp{}
	for unit := range scales {
		for _, s := range ScalesOf(unit) {
			out[unit] = append(out[unit], regexp.MustCompile(`^(?:`+s.Pattern+`)$`))
		}
	}
	return out
}()

var noUnitRE = regexp.MustCompile(`^(?:` + NoUnit + `)$`)

// factorOf is the factor for a number with the text behind after it, NaN if the text is not a convertible unit.
func factorOf(behind []byte, unit string) float64 {
	if noUnitRE.Match(behind) {
		return 1
	}
	for i, re := range scaleREs[unit] {
		if re.Match(behind) {
			return scales[unit][i].Factor
		}
	}
	return math.NaN()
}

// CommonUnit returns the unit into which all of these units can be converted. ok is false if there is none, or if they are ambiguous: m
// alone may mean metres or millions.
func CommonUnit(behind []string) (unit string, ok bool) {
	sure := func(s string) bool { return s == "M" || len(s) > 1 || strings.ContainsAny(s, "kKgGhd") }
	if !slices.ContainsFunc(behind, sure) || slices.Contains(behind, "M") && slices.Contains(behind, "m") {
		return "", false
	}
	for _, unit := range []string{"one", "kg", "m", "l", "day", "MB", "MHz"} {
		if !slices.ContainsFunc(behind, func(s string) bool { return math.IsNaN(factorOf([]byte(s), unit)) }) {
			return unit, true
		}
	}
	return "", false
}

func checkUnit(unit string) error {
	if unit != "" && scales[unit] == nil {
		return fmt.Errorf("unit: expected one of %s, got %q", strings.Join(UnitNames(), ", "), unit)
	}
	return nil
}
