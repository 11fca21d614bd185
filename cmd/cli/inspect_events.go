package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/cmd/cli/internal/events"
	"github.com/spf13/cobra"
)

func (a *app) inspectEventsCommand() *cobra.Command {
	var asJSON bool
	var tag string
	cmd := &cobra.Command{
		Use:   "events PATH",
		Short: "list the summaries of event files",
		Long: `Lists the tags of TensorBoard event files with their steps and last values: PATH
is a file, or a folder such as a model_dir, whose subfolders (eval) are read
too. With --tag, every value of that tag is printed.`,
		Example: `  goestimator inspect events runs/glyphs
  goestimator inspect events runs/glyphs --tag accuracy`,
		Args: onePath,
		RunE: func(_ *cobra.Command, args []string) error {
			runs, damage := events.Load(args[0])
			if !slices.ContainsFunc(runs, func(r events.Run) bool { return len(r.Tags) > 0 }) {
				return cmp.Or(damage, fmt.Errorf("%s holds no events", args[0]))
			}
			print := func() error { return a.printTags(runs, asJSON) }
			if tag != "" {
				print = func() error { return a.printSeries(runs, tag, asJSON) }
			}
			if err := print(); err != nil {
				return err
			}
			return damage
		},
	}
	cmd.Flags().StringVar(&tag, "tag", "", "print every value of this tag")
	addJSONFlag(cmd, &asJSON)
	return cmd
}

// tagInfo is a tag as it is printed.
type tagInfo struct {
	Run   string `json:"run"`
	Tag   string `json:"tag"`
	Kind  string `json:"kind"`
	Count int    `json:"count"`
	First int64  `json:"first_step"`
	Last  int64  `json:"last_step"`
	Value any    `json:"last_value"`
}

func (a *app) printTags(runs []events.Run, asJSON bool) error {
	list := []tagInfo{}
	t := newTextTable("run", "tag", "kind", "values", "steps", "last value")
	t.right(3)
	for _, r := range runs {
		for _, tag := range r.Tags {
			i := tagInfo{r.Name, tag.Name, string(tag.Kind), len(tag.Points), tag.Points[0].Step, tag.Last().Step, pointJSON(tag.Kind, tag.Last())}
			list = append(list, i)
			t.add(r.Name, tag.Name, i.Kind, fmt.Sprint(i.Count), fmt.Sprintf("%d..%d", i.First, i.Last), pointText(tag.Kind, tag.Last()))
		}
	}
	if asJSON {
		return a.printJSON(map[string]any{"tags": list})
	}
	_, err := fmt.Fprint(a.stdout, t)
	return err
}

func (a *app) printSeries(runs []events.Run, name string, asJSON bool) error {
	type value struct {
		Run   string `json:"run"`
		Step  int64  `json:"step"`
		Value any    `json:"value"`
	}
	values := []value{}
	t := newTextTable("run", "step", "value")
	t.right(1)
	for _, r := range runs {
		tag, _ := r.Tag(name)
		for _, p := range tag.Points {
			values = append(values, value{r.Name, p.Step, pointJSON(tag.Kind, p)})
			t.add(r.Name, fmt.Sprint(p.Step), pointText(tag.Kind, p))
		}
	}
	if len(values) == 0 {
		return fmt.Errorf("no tag %q: without --tag, all are listed", name)
	}
	if asJSON {
		return a.printJSON(map[string]any{"tag": name, "values": values})
	}
	_, err := fmt.Fprint(a.stdout, t)
	return err
}

// pointText is a value in a few words.
func pointText(kind events.Kind, p events.Point) string {
	switch kind {
	case events.Scalar:
		return fmt.Sprintf("%.6g", p.Scalar)
	case events.Histogram:
		h := p.Histogram
		return fmt.Sprintf("min %.4g max %.4g mean %.4g of %.0f", h.GetMin(), h.GetMax(), h.GetSum()/max(h.GetNum(), 1), h.GetNum())
	case events.Text:
		return strings.ReplaceAll(p.Text, "\n", " ")
	}
	return fmt.Sprintf("%d bytes", p.Bytes)
}

// pointJSON is a value as JSON: a number for a finite scalar.
func pointJSON(kind events.Kind, p events.Point) any {
	if kind == events.Scalar {
		return finite(p.Scalar)
	}
	return pointText(kind, p)
}
