package cli

import (
	"fmt"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/inputs"
)

// skippedRows counts the damaged rows that the inputs of a job left out, by section of the config.
type skippedRows map[string]*inputs.Damaged

// damaged returns the counter for an input; nil if damaged rows are errors.
func (j *job) damaged(section string, in inputs.Spec) *inputs.Damaged {
	if !in.Skips() {
		return nil
	}
	if j.skipped == nil {
		j.skipped = skippedRows{}
	}
	if j.skipped[section] == nil {
		j.skipped[section] = &inputs.Damaged{Log: j.app.log.With("input", section)}
	}
	return j.skipped[section]
}

// counts returns the number of rows by section; nil if no input leaves out rows.
func (s skippedRows) counts() map[string]int64 {
	if len(s) == 0 {
		return nil
	}
	out := make(map[string]int64, len(s))
	for section, d := range s {
		out[section] = d.Count()
	}
	return out
}

// printSkipped prints a line with the number of rows for each section.
func (a *app) printSkipped(counts map[string]int64) {
	for _, section := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(a.stdout, "%s_skipped_rows=%d\n", section, counts[section])
	}
}
