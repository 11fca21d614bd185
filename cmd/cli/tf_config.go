package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/cmd/cli/internal/layout"
	"github.com/spf13/cobra"
)

// tfConfigFlags are the flags of tf-config.
type tfConfigFlags struct {
	layout.Options
	layout, format, host, task string
}

// tfConfigFormats are the output formats of tf-config, the default first.
var tfConfigFormats = []string{"json", "env", "shell"}

func (a *app) tfConfigCommand() *cobra.Command {
	var f tfConfigFlags
	cmd := &cobra.Command{
		Use:   "tf-config --hosts HOST,HOST...",
		Short: "write the TF_CONFIG of each task of a cluster of hosts",
		Long:  tfConfigHelp(),
		Example: `  goestimator tf-config --hosts a,b,c,d --layout master-ps-everywhere
  goestimator tf-config --hosts a,b,c,d --layout master-ps-everywhere --task ps-2 --format env > task.env
  eval "$(goestimator tf-config --hosts a,b,c --host "$(hostname)" --format shell)"`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(fmt.Errorf("unexpected argument %q: hosts follow --hosts, with commas between them", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			tasks, err := f.place(cmd.Flags().Changed("ps"))
			if err != nil {
				return usage(err)
			}
			return a.printPlaced(tasks, f.format)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&f.Hosts, "hosts", nil, "the hosts, in the order of their roles; each may have a port of its own (host:port)")
	flags.StringVar(&f.layout, "layout", layout.Names()[0], "which tasks run where: "+strings.Join(layout.Names(), ", "))
	flags.IntVar(&f.Port, "port", 2222, "port of the first task on a host; the next tasks there have the next ports")
	flags.IntVar(&f.Servers, "ps", 1, "parameter servers of the layout chief-ps-workers-evaluator")
	flags.StringVar(&f.host, "host", "", "print the tasks of this host alone")
	flags.StringVar(&f.task, "task", "", "print this task alone, as ps-0")
	flags.StringVar(&f.format, "format", tfConfigFormats[0], "json (an object on a line for each task), env (TF_CONFIG=... as env files have it) or shell (export TF_CONFIG='...')")
	completeValues(cmd, "layout", layout.Names()...)
	completeValues(cmd, "format", tfConfigFormats...)
	return cmd
}

// tfConfigHelp describes the command and the layouts.
func tfConfigHelp() string {
	var b strings.Builder
	b.WriteString(`Writes the TF_CONFIG of each task of a cluster whose hosts are known, to be set
where the task is started. Each is read back as a task reads it before it is
printed. The layouts are

`)
	for _, l := range layout.Layouts() {
		fmt.Fprintf(&b, "  %s\n      %s\n", l.Name, l.Summary)
	}
	return b.String() + `
Where a host has several tasks, each is a process with a TF_CONFIG of its own.`
}

// place returns the tasks to print.
func (f tfConfigFlags) place(countsServers bool) ([]layout.Placed, error) {
	l, err := layout.Find(f.layout)
	if err != nil {
		return nil, fmt.Errorf("--layout: %w", err)
	}
	switch {
	case len(f.Hosts) == 0:
		return nil, errors.New("--hosts is not set: expected for example a,b,c")
	case !slices.Contains(tfConfigFormats, f.format):
		return nil, fmt.Errorf("--format: got %q, expected one of %s", f.format, strings.Join(tfConfigFormats, ", "))
	case countsServers && !l.CountsServers:
		return nil, fmt.Errorf("--ps does not go with --layout %s: it has no number of parameter servers to choose", l.Name)
	case f.Servers < 1:
		return nil, fmt.Errorf("--ps: got %d, expected 1 or more", f.Servers)
	}
	tasks, err := l.Place(f.Options)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range tasks {
		names = append(names, p.Task.String()+" on "+p.Host)
	}
	tasks = slices.DeleteFunc(tasks, func(p layout.Placed) bool {
		return f.host != "" && p.Host != f.host || f.task != "" && p.Task.String() != f.task
	})
	if len(tasks) == 0 {
		return nil, fmt.Errorf("no task is asked for by --host %q and --task %q: there are %s", f.host, f.task, strings.Join(names, ", "))
	}
	return tasks, nil
}

// placedJSON is a task as --format json prints it.
type placedJSON struct {
	Host     string          `json:"host"`
	Type     string          `json:"type"`
	Index    int             `json:"index"`
	TFConfig json.RawMessage `json:"tf_config"`
}

func (a *app) printPlaced(tasks []layout.Placed, format string) error {
	for _, p := range tasks {
		var err error
		switch format {
		case "json":
			err = a.printJSON(placedJSON{p.Host, p.Task.Type, p.Task.Index, json.RawMessage(p.TFConfig)})
		case "env":
			_, err = fmt.Fprintf(a.stdout, "# %s on %s\nTF_CONFIG=%s\n", p.Task, p.Host, p.TFConfig)
		case "shell":
			_, err = fmt.Fprintf(a.stdout, "# %s on %s\nexport TF_CONFIG='%s'\n", p.Task, p.Host, p.TFConfig)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
