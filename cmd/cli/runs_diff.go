package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/cmd/cli/internal/runs"
	"github.com/spf13/cobra"
)

func (a *app) runsDiffCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff A B [MORE...]",
		Short: "compare runs: keys of their configs that differ, and their metrics",
		Long: `Compares runs, each the folder of a trained model: the keys of their configs that
differ, and the last and best values of their metrics side by side.`,
		Example: `  goestimator runs diff runs/a runs/b`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage(errors.New("expected the folders of two runs or more"))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.diffRuns(args, asJSON) },
	}
	addJSONFlag(cmd, &asJSON)
	offerFolders(cmd)
	return cmd
}

func (a *app) diffRuns(dirs []string, asJSON bool) error {
	var all []runs.Run
	for _, dir := range dirs {
		r, err := a.oneRun(dir)
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	keys, metrics := runs.Differing(all), map[string]bool{}
	for _, r := range all {
		for name := range r.Metrics {
			metrics[name] = true
		}
	}
	if asJSON {
		list := []runJSON{}
		for _, r := range all {
			list = append(list, newRunJSON(r))
		}
		return a.printJSON(map[string]any{"runs": list, "differing": append([]string{}, keys...)})
	}
	t := newTextTable(append([]string{""}, dirs...)...)
	line := func(name string, of func(runs.Run) string) {
		cells := []string{name}
		for _, r := range all {
			cells = append(cells, of(r))
		}
		t.add(cells...)
	}
	line("state", func(r runs.Run) string { return string(r.Phase) })
	line("step", func(r runs.Run) string { return stepText(r.Step) })
	for _, key := range keys {
		line(key, func(r runs.Run) string { return shorten(r.Config[key]) })
	}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		line(name, metricCell(name, func(m runs.Metric) string { return shortNumber(m.Last) }))
		line(name+", best", metricCell(name, func(m runs.Metric) string { return fmt.Sprintf("%s at step %d", shortNumber(m.Best), m.BestAt) }))
	}
	_, err := fmt.Fprint(a.stdout, t)
	return err
}

// metricCell formats a metric; empty for a run without it.
func metricCell(name string, text func(runs.Metric) string) func(runs.Run) string {
	return func(r runs.Run) string {
		m, ok := r.Metrics[name]
		if !ok {
			return ""
		}
		return text(m)
	}
}

// oneRun loads the run in a folder.
func (a *app) oneRun(dir string) (runs.Run, error) {
	found, err := runs.Find(dir)
	if err != nil && !errors.Is(err, runs.ErrMany) {
		return runs.Run{}, err
	}
	if len(found) == 0 || found[0] != dir {
		return runs.Run{}, usage(fmt.Errorf("%s is not the folder of a run: it holds neither checkpoints nor events", dir))
	}
	r, err := runs.Load(dir, dir)
	if err == nil && r.Damage != nil {
		a.log.Warn("a run could be read in part only", "run", dir, "error", oneLine(r.Damage))
	}
	return r, err
}
