package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/goestimator/goestimator/cmd/cli/internal/events"
	"github.com/goestimator/goestimator/cmd/cli/internal/live"
	"github.com/goestimator/goestimator/cmd/cli/internal/runs"
	"github.com/spf13/cobra"
)

const (
	defaultRuns = "runs"          // the default folder
	lookEvery   = time.Second     // to read files of known runs
	findEvery   = 5 * time.Second // to look for new runs
)

func (a *app) watchCommand() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "watch [DIR...]",
		Short: "a live page of runs while they train",
		Long: `Serves a web page of the runs at and below the folders (default: runs): their
states, and their scalars of training and evaluation, several runs in one chart.
The page follows the event files as they grow; runs that begin later appear on it.
It needs no network and changes nothing. SIGTERM or Ctrl-C ends it.`,
		Example: `  goestimator watch
  goestimator watch runs/iris other/adult --address 127.0.0.1:6007`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.watch(cmd.Context(), folders(args), address)
		},
	}
	cmd.Flags().StringVar(&address, "address", "127.0.0.1:0", "where the page is served; port 0: a free one")
	offerFolders(cmd)
	return cmd
}

// folders are the arguments, or the default folder.
func folders(args []string) []string {
	if len(args) == 0 {
		return []string{defaultRuns}
	}
	return args
}

// offerFolders makes a shell offer folders as arguments.
func offerFolders(cmd *cobra.Command) {
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
}

// watch serves the page until ctx ends.
func (a *app) watch(ctx context.Context, roots []string, address string) error {
	a.drains = true
	w := &watcher{app: a, roots: roots, board: live.NewBoard(), watched: map[string]*followedRun{}}
	if err := w.find(); err != nil {
		return err
	}
	if err := w.look(); err != nil {
		return err
	}
	page, err := live.NewPage(w.board)
	if err != nil {
		return err
	}
	at, stop, err := servePage(ctx, address, page, a.log)
	if err != nil {
		return usage(fmt.Errorf("--address: %w", err))
	}
	if len(w.order) == 0 {
		a.log.Info("no runs yet: they are shown as they begin", "folders", roots)
	}
	_, err = fmt.Fprintf(a.stdout, "page=http://%s/\n", at)
	if err == nil {
		err = w.run(ctx)
	}
	return errors.Join(err, stop())
}

// watcher follows runs and posts what changes.
type watcher struct {
	app     *app
	roots   []string
	board   *live.Board
	order   []string                // folders of runs
	watched map[string]*followedRun // by folder
	told    string                  // the last warning about a search
}

// followedRun is one run.
type followedRun struct {
	name     string
	follower *events.Follower
	state    runs.State
	damage   string
	posted   bool
}

// run polls until ctx ends.
func (w *watcher) run(ctx context.Context) error {
	look, find := time.NewTicker(lookEvery), time.NewTicker(findEvery)
	defer look.Stop()
	defer find.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			err = w.look()
		case <-find.C:
			err = w.find()
		}
		if err != nil {
			return err
		}
	}
}

// find adds new runs and removes deleted ones. It does not repeat the last warning about folders that cannot be read.
func (w *watcher) find() error {
	first := w.told == "" && len(w.watched) == 0
	w.order = w.order[:0:0]
	for _, root := range w.roots {
		dirs, err := runs.Find(root)
		if err != nil && first && !errors.Is(err, runs.ErrMany) {
			return err
		}
		if err != nil && w.told != err.Error() {
			w.told = err.Error()
			w.app.log.Warn("some runs are not shown", "error", oneLine(err))
		}
		for _, dir := range dirs {
			if slices.Contains(w.order, dir) {
				continue
			}
			w.order = append(w.order, dir)
			if w.watched[dir] == nil {
				w.watched[dir] = &followedRun{name: w.name(root, dir), follower: events.Follow(dir)}
			}
		}
	}
	for dir := range w.watched {
		if !slices.Contains(w.order, dir) {
			delete(w.watched, dir)
		}
	}
	return nil
}

// name is the name of a run; with several root folders, it includes the root.
func (w *watcher) name(root, dir string) string {
	if len(w.roots) > 1 {
		return filepath.ToSlash(filepath.Clean(dir))
	}
	return runs.Name(root, dir)
}

// look reads what each run has added, and posts the changes.
func (w *watcher) look() error {
	var names []string
	var changed []live.Run
	for _, dir := range w.order {
		r := w.watched[dir]
		names = append(names, r.name)
		if r.look(w.app, dir) {
			changed = append(changed, r.live())
		}
	}
	return w.board.Post(names, changed)
}

// look reads what a run has added, and reports whether anything changed.
func (r *followedRun) look(a *app, dir string) bool {
	more, err := r.follower.Poll()
	state, serr := runs.ReadState(dir)
	damage := ""
	if err = errors.Join(err, serr); err != nil {
		damage = oneLine(err)
	}
	if state.Phase != r.state.Phase {
		a.log.Info("run", "name", r.name, "state", string(state.Phase), "step", max(state.Step, runs.LastStep(r.follower.Curves())), "reason", state.Reason)
	}
	news := more || !r.posted || state != r.state || damage != r.damage
	r.state, r.damage, r.posted = state, damage, true
	return news
}

// live is the run as the page shows it.
func (r *followedRun) live() live.Run {
	curves := r.follower.Curves()
	return live.Run{Name: r.name, State: string(r.state.Phase), Reason: r.state.Reason, Step: max(r.state.Step, runs.LastStep(curves)),
		Seconds: max(r.state.Seconds, r.follower.Seconds()), Damage: r.damage, Curves: live.Draw(curves)}
}
