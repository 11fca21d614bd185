package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/models"
	"github.com/spf13/cobra"
)

func (a *app) inspectShardsCommand() *cobra.Command {
	var f configFlags
	var servers int
	cmd := &cobra.Command{
		Use:   "shards --config FILE",
		Short: "say which task holds which part of each variable",
		Long: `Builds the model that a config trains and shows where its variables lie: for each
shard its first row, shape, type, bytes and task. Optimizer state is listed, too: it
lies beside its variable. The cluster is that of TF_CONFIG, or one with --ps parameter
servers. Nothing is trained, no task is called, and no memory is taken for variables.`,
		Example: `  goestimator inspect shards --config configs/glyphs.yaml --ps 3
  goestimator inspect shards --config configs/glyphs.yaml --ps 3 --set strategy.name=parameter_server --set strategy.placement=round_robin --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.loadFor(servers)
			if err != nil {
				return err
			}
			list, err := a.shards(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			return a.printShards(list, f.json)
		},
	}
	f.add(cmd)
	cmd.Flags().IntVar(&servers, "ps", 0, "parameter servers of the cluster; 0: those that TF_CONFIG names")
	return cmd
}

// loadFor reads the config as the chief of a cluster with so many parameter servers; 0: the cluster of TF_CONFIG.
func (f *configFlags) loadFor(servers int) (*config.Config, error) {
	switch {
	case servers == 0:
		return f.load()
	case servers < 0 || servers > maxShownServers:
		return nil, usage(fmt.Errorf("--ps: got %d, expected 1 to %d", servers, maxShownServers))
	case f.path == "":
		return nil, errNoConfig
	}
	ps := make([]string, servers)
	for i := range ps {
		ps[i] = fmt.Sprintf("%q", "ps:"+strconv.Itoa(i+2))
	}
	cluster := fmt.Sprintf(`TF_CONFIG={"cluster":{"chief":["chief:1"],"ps":[%s]},"task":{"type":"chief","index":0}}`, strings.Join(ps, ","))
	cfg, err := config.Load(config.LoadOptions{Path: f.path, Sets: f.sets, Env: append(os.Environ(), cluster)})
	if err != nil {
		return nil, usage(err)
	}
	return cfg, nil
}

// maxShownServers bounds --ps by the largest number that a plan may have.
const maxShownServers = 4096

// errNoConfig is the error of commands that need a config.
var errNoConfig = usage(errors.New("no config: give --config FILE, for example --config configs/glyphs.yaml"))

// shards are the variable shards of the training that a config describes.
func (a *app) shards(ctx context.Context, cfg *config.Config) ([]models.VariableShards, error) {
	j, err := a.looseJob(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer j.est.Close()
	input, err := j.input(j.cfg.Resolve(j.cfg.Train.Input), "train")
	if err != nil {
		return nil, err
	}
	return j.est.Shards(ctx, input)
}

// shardedInfo is a variable as JSON.
type shardedInfo struct {
	tensorInfo
	Slot   bool        `json:"slot"`
	Shards []shardInfo `json:"shards"`
}

type shardInfo struct {
	Name   string `json:"name"`
	Offset []int  `json:"offset"`
	Shape  []int  `json:"shape"`
	Bytes  int64  `json:"bytes"`
	Task   string `json:"task"`
}

// taskLoad is the load of one task.
type taskLoad struct {
	Task   string `json:"task"`
	Shards int    `json:"shards"`
	Bytes  int64  `json:"bytes"`
}

func (a *app) printShards(list []models.VariableShards, asJSON bool) error {
	if !asJSON {
		_, err := fmt.Fprint(a.stdout, formatShards(list))
		return err
	}
	vars := []shardedInfo{}
	for _, v := range list {
		info := shardedInfo{tensorInfo{v.Name, v.DType.String(), v.Shape, v.Bytes()}, v.Slot, []shardInfo{}}
		for _, s := range v.Shards {
			info.Shards = append(info.Shards, shardInfo(s))
		}
		vars = append(vars, info)
	}
	return a.printJSON(map[string]any{"variables": vars, "tasks": loads(list)})
}

// loads adds up the load of each task, ordered by task number.
func loads(list []models.VariableShards) []taskLoad {
	out, at := []taskLoad{}, map[string]int{}
	for _, v := range list {
		for _, s := range v.Shards {
			i, ok := at[s.Task]
			if !ok {
				i = len(out)
				at[s.Task], out = i, append(out, taskLoad{Task: s.Task})
			}
			out[i].Shards++
			out[i].Bytes += s.Bytes
		}
	}
	slices.SortFunc(out, func(a, b taskLoad) int {
		return cmp.Or(cmp.Compare(len(a.Task), len(b.Task)), cmp.Compare(a.Task, b.Task))
	})
	return out
}

func formatShards(list []models.VariableShards) string {
	t := newTextTable("shard", "type", "offset", "shape", "bytes", "task")
	t.right(4)
	for _, v := range list {
		for _, s := range v.Shards {
			t.add(s.Name, v.DType.String(), shapeText(s.Offset), shapeText(s.Shape), group(s.Bytes), s.Task)
		}
	}
	for _, l := range loads(list) {
		t.add(fmt.Sprintf("total: %d shards", l.Shards), "", "", "", group(l.Bytes), l.Task)
	}
	return t.String()
}
