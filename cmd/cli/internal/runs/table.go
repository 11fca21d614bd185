package runs

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Table is a table of runs to print.
type Table struct {
	Runs   []Run
	Metric string // the metric that "best" shows
}

// Condition is a condition on a field of a run.
type Condition struct {
	name, op, value string
}

// operators are the operators of conditions, longer ones first.
var operators = []string{"!=", "<=", ">=", "=", "<", ">"}

// ParseConditions reads conditions such as accuracy>0.9.
func ParseConditions(texts []string) ([]Condition, error) {
	var out []Condition
	for _, text := range texts {
		i := strings.IndexAny(text, "!<>=")
		if i < 1 {
			return nil, fmt.Errorf("%q: expected NAME OP VALUE with one of = != < <= > >=, for example accuracy>0.9", text)
		}
		k := slices.IndexFunc(operators, func(op string) bool { return strings.HasPrefix(text[i:], op) })
		if k < 0 {
			return nil, fmt.Errorf("%q: expected one of = != < <= > >=", text)
		}
		c := Condition{strings.TrimSpace(text[:i]), operators[k], strings.TrimSpace(text[i+len(operators[k]):])}
		if _, err := strconv.ParseFloat(c.value, 64); err != nil && (c.op[0] == '<' || c.op[0] == '>') {
			return nil, fmt.Errorf("%q: expected a number after %s, got %q", text, c.op, c.value)
		}
		out = append(out, c)
	}
	return out, nil
}

// Filter keeps the runs that meet all conditions. A name that no run has is an error.
func (t *Table) Filter(conditions []Condition) error {
	for _, c := range conditions {
		if err := t.known(c.name); err != nil {
			return err
		}
	}
	t.Runs = slices.DeleteFunc(slices.Clone(t.Runs), func(r Run) bool {
		return slices.ContainsFunc(conditions, func(c Condition) bool { return !t.holds(r, c) })
	})
	return nil
}

// holds compares numbers if both values are numbers, else texts. A missing value satisfies only !=, and so does NaN beside a number. NaN equals NaN.
func (t *Table) holds(r Run, c Condition) bool {
	f, ok := t.field(r, c.name)
	if !ok {
		return c.op == "!="
	}
	order := strings.Compare(f.text, c.value)
	if want, err := strconv.ParseFloat(c.value, 64); err == nil && f.number {
		if math.IsNaN(f.value) != math.IsNaN(want) {
			return c.op == "!="
		}
		order = cmp.Compare(f.value, want)
	} else if c.op[0] == '<' || c.op[0] == '>' {
		return false
	}
	switch c.op {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// Sort sorts by a field; "" keeps the order. Runs without the field come last.
func (t *Table) Sort(name string, reverse bool) error {
	if name == "" {
		if reverse {
			slices.Reverse(t.Runs)
		}
		return nil
	}
	if err := t.known(name); err != nil {
		return err
	}
	slices.SortStableFunc(t.Runs, func(a, b Run) int {
		x, okA := t.field(a, name)
		y, okB := t.field(b, name)
		okA, okB = okA && !math.IsNaN(x.value), okB && !math.IsNaN(y.value)
		switch {
		case okA != okB && okA:
			return -1
		case okA != okB:
			return 1
		case !okA:
			return 0
		}
		order := strings.Compare(x.text, y.text)
		if x.number && y.number {
			order = cmp.Compare(x.value, y.value)
		}
		if reverse {
			return -order
		}
		return order
	})
	return nil
}

// known returns an error if no run has a field with that name. Without runs, all names are known.
func (t *Table) known(name string) error {
	names := map[string]bool{}
	for _, r := range t.Runs {
		if _, ok := t.field(r, name); ok {
			return nil
		}
		for m := range r.Metrics {
			names[m] = true
		}
	}
	if len(t.Runs) == 0 || name == "best" {
		return nil
	}
	list := []string{"name", "state", "step", "time", "size", "changed", "best"}
	for m := range names {
		list = append(list, m)
	}
	slices.Sort(list[7:])
	return fmt.Errorf("no run has %q: expected a key of the config, or one of %s", name, strings.Join(list, ", "))
}

// field is the value of a run's field.
type field struct {
	text   string
	value  float64
	number bool
}

func numeric(x float64) field { return field{strconv.FormatFloat(x, 'g', -1, 64), x, true} }

func (t *Table) field(r Run, name string) (field, bool) {
	switch name {
	case "name":
		return field{text: r.Name}, true
	case "state":
		return field{text: string(r.Phase)}, true
	case "step":
		return numeric(float64(r.Step)), r.Step >= 0
	case "time":
		return numeric(r.Seconds), true
	case "size":
		return numeric(float64(r.Size)), true
	case "changed":
		return numeric(float64(r.Changed.UnixNano())), true
	case "best":
		m, ok := r.Metrics[t.Metric]
		return numeric(m.Best), ok
	}
	if m, ok := r.Metrics[name]; ok {
		return numeric(m.Last), true
	}
	text, ok := r.Config[name]
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		return field{text, x, true}, ok
	}
	return field{text: text}, ok
}
