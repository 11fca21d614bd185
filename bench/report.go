package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
)

// print writes the subject's table: ratios between ours and the peer, of medians and
// of the best blocks, which other load disturbs least.
func (r *result) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s: %s [%s]\n", r.Subject, r.Title, r.Unit)
	checked := "results checked against float64"
	if !r.Checked {
		checked = "results not checked"
	}
	fmt.Fprintf(w, "%s; %d cores, load %s -> %s; %d rounds x %d processes; %s\n", r.CPU, r.Cores, r.Load[0], r.Load[1], r.Rounds, r.Fresh, checked)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	further := r.further()
	fmt.Fprintln(t, strings.Join(append([]string{"case", "threads", "contender", "median", "min", "max", "ours/peer", "best/best", "allocs"}, further...), "\t")+"\t")
	for _, x := range r.Rows {
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t", x.Case, x.Threads, x.Contender,
			short(x.Median), short(x.Min), short(x.Max), r.ratio(x, middle), r.ratio(x, r.best), x.allocs())
		for _, name := range further {
			fmt.Fprint(t, x.more(name), "\t")
		}
		fmt.Fprintln(t)
	}
	t.Flush()
	for _, line := range r.means() {
		fmt.Fprintln(w, line)
	}
	for _, m := range r.Missing {
		fmt.Fprintln(w, "left out:", m)
	}
}

// means summarizes subjects with several cases: for each library and number of
// threads, the geometric mean of the ratios to its best contender in each case.
func (r *result) means() []string {
	type group struct {
		library string
		threads int
	}
	peers := map[group]map[string]row{} // the best row in each case
	var order []group
	for _, x := range r.Rows {
		library, _, _ := strings.Cut(x.Contender, " ")
		g := group{strings.TrimSuffix(library, ","), x.Threads}
		if g.library == ours && x.Contender != ours {
			continue // another configuration of ours
		}
		if peers[g] == nil {
			peers[g] = map[string]row{}
			order = append(order, g)
		}
		old, ok := peers[g][x.Case]
		if !ok || x.Median < old.Median != rate(r.Unit) {
			peers[g][x.Case] = x
		}
	}
	var out []string
	for _, g := range order {
		mine := peers[group{ours, g.threads}]
		if g.library == ours || len(peers[g]) < 2 {
			continue
		}
		var sum, best float64
		for name, x := range peers[g] {
			sum += math.Log(mine[name].Median / x.Median)
			best += math.Log(r.best(mine[name]) / r.best(x))
		}
		n := float64(len(peers[g]))
		out = append(out, fmt.Sprintf("%s, %d threads: geometric mean of the ratios %.2f (best blocks %.2f)",
			g.library, g.threads, math.Exp(sum/n), math.Exp(best/n)))
	}
	return out
}

// ratio divides our value by the row's.
func (r *result) ratio(x row, of func(row) float64) string {
	mine, ok := r.find(key{x.Case, x.Threads, ours})
	if !ok || x.Contender == ours || of(x) == 0 {
		return ""
	}
	v := of(mine) / of(x)
	if v < 0.01 {
		return fmt.Sprintf("%.1g", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// allocs formats the allocations per step, if the contender reports them.
func (x row) allocs() string {
	if x.Contender != ours {
		return ""
	}
	return fmt.Sprintf("%.0f", x.Allocs)
}

// more formats a further figure; "" if the row does not have it.
func (x row) more(name string) string {
	v, ok := x.More[name]
	if !ok {
		return ""
	}
	return short(v)
}

func middle(x row) float64 { return x.Median }

// best is the fastest block.
func (r *result) best(x row) float64 {
	if rate(r.Unit) {
		return x.Max
	}
	return x.Min
}

func short(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 100:
		return fmt.Sprintf("%.1f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// compare prints our rows next to the recorded ones, and returns how many have
// become more than 5 % worse.
func (r *result) compare(w io.Writer, old *result) int {
	fmt.Fprintf(w, "\n%s: compared with %s (load %s)\n", r.Subject, old.Time, old.Load[0])
	if r.CPU != old.CPU || r.Cores != old.Cores {
		fmt.Fprintf(w, "recorded on another machine: %s, %d cores\n", old.CPU, old.Cores)
	}
	worse := 0
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "case\tthreads\trecorded\tnow\tnow/recorded\t\t")
	for _, x := range r.Rows {
		was, ok := old.find(x.key)
		if x.Contender != ours || !ok || was.Median == 0 {
			continue
		}
		change := x.Median / was.Median
		mark := ""
		if loss := change > 1.05; loss && !rate(r.Unit) || change < 0.95 && rate(r.Unit) {
			mark = "SLOWER"
			worse++
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%.2f\t%s\t\n", x.Case, x.Threads, short(was.Median), short(x.Median), change, mark)
	}
	t.Flush()
	return worse
}

// rate reports whether higher is better in that unit.
func rate(unit string) bool { return strings.HasSuffix(unit, "/s") }
