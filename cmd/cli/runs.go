package cli

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goestimator/goestimator/cmd/cli/internal/runs"
	"github.com/spf13/cobra"
)

func (a *app) runsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "list and compare runs",
		Example: `  goestimator runs ls runs
  goestimator runs diff runs/a runs/b`,
		Args: onlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.runsListCommand(), a.runsDiffCommand())
	return cmd
}

// listFlags are the flags of runs ls.
type listFlags struct {
	metric, sort string
	keys, where  []string
	reverse      bool
	json, csv    bool
}

func (a *app) runsListCommand() *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "ls [DIR...]",
		Short: "a table of the runs at and below folders",
		Long: `Lists the runs at and below the folders (default: runs): what they are doing,
their steps, a metric's last and best value, keys of their configs, training time and
size. A run is running, finished, failed, or stopped, which is interrupted or killed.

Without --keys the table has the keys of the configs that differ among the runs, up to
six. --where takes conditions NAME OP VALUE, with = != < <= > >=, of name, state,
step, time, size, metrics (their last value), best, and keys of the configs; all of them must hold.`,
		Example: `  goestimator runs ls
  goestimator runs ls sweep/trials --sort best --reverse
  goestimator runs ls --where state=finished --where 'accuracy>0.9' --keys optimizer.learning_rate --csv`,
		RunE: func(_ *cobra.Command, args []string) error { return a.listRuns(folders(args), f) },
	}
	cmd.Flags().StringVar(&f.metric, "metric", "", "metric that is shown (default: the one of early stopping or a sweep, accuracy or loss)")
	cmd.Flags().StringVar(&f.sort, "sort", "", "sort by name, state, step, time, size, changed, best, a metric or a key of the config (default: as found)")
	cmd.Flags().BoolVar(&f.reverse, "reverse", false, "sort from high to low")
	cmd.Flags().StringSliceVar(&f.keys, "keys", nil, "keys of the config that are shown")
	cmd.Flags().StringArrayVar(&f.where, "where", nil, "condition that a run must meet; may be repeated")
	cmd.Flags().BoolVar(&f.csv, "csv", false, "print CSV")
	addJSONFlag(cmd, &f.json)
	offerFolders(cmd)
	return cmd
}

func (a *app) listRuns(roots []string, f listFlags) error {
	if f.json && f.csv {
		return usage(errors.New("--json and --csv: expected one of the two"))
	}
	conditions, err := runs.ParseConditions(f.where)
	if err != nil {
		return usage(fmt.Errorf("--where: %w", err))
	}
	for _, root := range roots {
		if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
			return usage(fmt.Errorf("no folder %s: name the folder of the runs", root))
		}
	}
	all, damage := runs.All(roots)
	t := runs.Table{Runs: all, Metric: f.metric}
	if t.Metric == "" {
		t.Metric = runs.MainMetric(all)
	}
	if err := t.Filter(conditions); err != nil {
		return usage(fmt.Errorf("--where: %w", err))
	}
	if err := t.Sort(f.sort, f.reverse); err != nil {
		return usage(fmt.Errorf("--sort: %w", err))
	}
	if err := a.printRuns(t, f); err != nil {
		return err
	}
	for _, r := range all {
		if r.Damage != nil {
			a.log.Warn("a run could be read in part only", "run", r.Name, "error", oneLine(r.Damage))
		}
	}
	return damage
}

// mostKeys is the largest number of config keys that a table shows by default.
const mostKeys = 6

func (a *app) printRuns(t runs.Table, f listFlags) error {
	keys := f.keys
	if keys == nil {
		keys = runs.Differing(t.Runs)
		slices.SortStableFunc(keys, func(a, b string) int { return keyRank(a) - keyRank(b) })
		keys = keys[:min(len(keys), mostKeys)]
	}
	switch {
	case f.json:
		list := []runJSON{}
		for _, r := range t.Runs {
			list = append(list, newRunJSON(r))
		}
		return a.printJSON(map[string]any{"runs": list})
	case f.csv:
		return a.runsCSV(t, keys)
	case len(t.Runs) == 0:
		_, err := fmt.Fprintln(a.stdout, "no runs")
		return err
	}
	out := newTextTable(append([]string{"run", "state", "step", t.Metric, "best", "at step", "time", "size"}, keys...)...)
	out.right(2, 3, 4, 5, 6, 7)
	for _, r := range t.Runs {
		row := []string{r.Name, string(r.Phase), stepText(r.Step), "", "", ""}
		if m, ok := r.Metrics[t.Metric]; ok {
			row = append(row[:3], shortNumber(m.Last), shortNumber(m.Best), fmt.Sprint(m.BestAt))
		}
		row = append(row, (time.Duration(r.Seconds * float64(time.Second))).Round(time.Second).String(), sizeText(r.Size))
		for _, key := range keys {
			row = append(row, shorten(r.Config[key]))
		}
		out.add(row...)
	}
	_, err := fmt.Fprint(a.stdout, out)
	return err
}

// keyRank is 0 for keys that are likely to matter: of the model, the optimizer and the batch size.
func keyRank(key string) int {
	if section, _, _ := strings.Cut(key, "."); section == "model" || section == "optimizer" || key == "train.input.batch_size" {
		return 0
	}
	return 1
}

// runsCSV prints exact numbers: bytes, seconds, and metrics with all digits.
func (a *app) runsCSV(t runs.Table, keys []string) error {
	w := csv.NewWriter(a.stdout)
	rows := [][]string{append([]string{"run", "dir", "state", "step", t.Metric, "best", "best_step", "seconds", "bytes", "changed"}, keys...)}
	for _, r := range t.Runs {
		row := []string{r.Name, r.Dir, string(r.Phase), stepText(r.Step), "", "", "", exact(r.Seconds), fmt.Sprint(r.Size), r.Changed.UTC().Format(time.RFC3339)}
		if m, ok := r.Metrics[t.Metric]; ok {
			row[4], row[5], row[6] = exact(m.Last), exact(m.Best), fmt.Sprint(m.BestAt)
		}
		for _, key := range keys {
			row = append(row, r.Config[key])
		}
		rows = append(rows, row)
	}
	return w.WriteAll(rows)
}

// runJSON is a run as JSON.
type runJSON struct {
	Name    string                `json:"name"`
	Dir     string                `json:"dir"`
	State   string                `json:"state"`
	Reason  string                `json:"reason,omitempty"`
	Step    *int64                `json:"step"`
	Metrics map[string]metricJSON `json:"metrics"`
	Config  map[string]string     `json:"config"`
	Seconds float64               `json:"seconds"`
	Bytes   int64                 `json:"bytes"`
	Changed time.Time             `json:"changed"`
	Damage  string                `json:"damage,omitempty"`
}

// metricJSON is a metric; numbers that are not finite are null.
type metricJSON struct {
	Last     any   `json:"last"`
	Step     int64 `json:"step"`
	Best     any   `json:"best"`
	BestStep int64 `json:"best_step"`
	Least    any   `json:"least"`
	Most     any   `json:"most"`
}

func newRunJSON(r runs.Run) runJSON {
	out := runJSON{Name: r.Name, Dir: r.Dir, State: string(r.Phase), Reason: r.Reason, Metrics: map[string]metricJSON{}, Config: r.Config,
		Seconds: r.Seconds, Bytes: r.Size, Changed: r.Changed.UTC()}
	if r.Step >= 0 {
		out.Step = &r.Step
	}
	for name, m := range r.Metrics {
		out.Metrics[name] = metricJSON{finite(m.Last), m.At, finite(m.Best), m.BestAt, finite(m.Least), finite(m.Most)}
	}
	if r.Damage != nil {
		out.Damage = oneLine(r.Damage)
	}
	return out
}

// exact formats a number with all digits; most numbers in event files are float32.
func exact(x float64) string {
	if float64(float32(x)) == x {
		return strconv.FormatFloat(x, 'g', -1, 32)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

func shortNumber(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }

func stepText(step int64) string {
	if step < 0 {
		return ""
	}
	return strconv.FormatInt(step, 10)
}

// shorten shortens a config value that is too long for a table.
func shorten(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:37]) + "..."
	}
	return s
}

// sizeText formats a number of bytes for people.
func sizeText(n int64) string {
	v, units := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; v >= 1024 && i < len(units)-1; i++ {
		v /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}
