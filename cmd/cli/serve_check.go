//go:build !noserve

package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/platform/printable"
	"github.com/goestimator/goestimator/internal/platform/statustext"
	"github.com/goestimator/goestimator/internal/runtime/device"
)

// modelCheck is the result of serve --check for a version, as printed.
type modelCheck struct {
	Path       string        `json:"path"`
	Served     bool          `json:"served"`
	Missing    []missingPart `json:"missing"`
	Error      string        `json:"error,omitempty"` // why it is not served, if nothing is missing
	Signatures []dryRun      `json:"signatures"`
}

// missingPart is an op, or a part of one, that a model needs and the server does not support.
type missingPart struct {
	Op    string   `json:"op"`
	Needs string   `json:"needs"`
	Nodes []string `json:"nodes"`
}

// dryRun is the result of a signature's dry run.
type dryRun struct {
	Key       string `json:"key"`
	Error     string `json:"error,omitempty"`     // with made-up values: real requests may succeed
	Unchecked bool   `json:"unchecked,omitempty"` // the dry run did not end, so parts may be missing
}

// checkModel loads the version in path, or the newest one in that folder, like a server, prints the result, and fails if
// a server would refuse it.
func (a *app) checkModel(ctx context.Context, path string, f *serveFlags, dev device.Device) error {
	dir, err := newestVersion(path)
	if err != nil {
		return err
	}
	c := modelCheck{Path: dir, Missing: []missingPart{}, Signatures: []dryRun{}}
	failed := map[string]error{}
	s, err := session.Open(ctx, dir, session.Options{MaxConcurrent: f.runs, Device: dev, HardPlacement: !f.softPlacement, Tags: strings.Split(f.tags, ","),
		Check: session.Check{Failed: func(signature string, err error) { failed[signature] = err }}})
	if err == nil {
		c.Served = true
		for _, key := range slices.Sorted(maps.Keys(s.Signatures())) {
			run := dryRun{Key: key, Unchecked: errors.Is(failed[key], session.ErrUnchecked)}
			if err := failed[key]; err != nil {
				run.Error = statustext.Of(err)
			}
			c.Signatures = append(c.Signatures, run)
		}
		err = s.Close()
	}
	c.refused(err)
	if f.json {
		err = a.printJSON(c)
	} else {
		_, err = fmt.Fprint(a.stdout, c)
	}
	if err == nil && !c.Served {
		err = fmt.Errorf("%s cannot be served: %w", dir, errReported)
	}
	return err
}

// refused records why a version is refused.
func (c *modelCheck) refused(err error) {
	unsupported := session.Missing(err)
	for _, g := range unsupported {
		c.Missing = append(c.Missing, missingPart{g.Op, needs(g), g.Nodes})
	}
	if err != nil && len(unsupported) == 0 {
		c.Error = statustext.Of(err)
	}
}

// needs says what a model needs to be served.
func needs(g session.Gap) string {
	d := ops.Find(g.Op)
	switch {
	case g.ONNX:
		return "a translation: " + g.Why
	case g.Why != "":
		return "a wider kernel: " + g.Why
	case strings.Contains(g.Op, "PyFunc"):
		return "Python: the function is only in the program that saved the model; save it without py_function"
	case strings.HasPrefix(g.Op, "Stack") && d != nil:
		return "a model without gradients of loops of TensorFlow 1: save it after tf.compat.v1.enable_control_flow_v2()"
	case d != nil && d.State == ops.Queues:
		return "a model without queues, and without datasets of files or shared iterators: save the part that answers requests"
	case d != nil:
		return "a kernel of the op"
	}
	return "the op, which goestimator does not know"
}

// String formats the check as text.
func (c modelCheck) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", printable.Text(c.Path))
	switch {
	case c.Served:
		b.WriteString("can be served\n")
	case c.Error != "":
		fmt.Fprintf(&b, "cannot be served: %s\n", printable.Text(c.Error))
	default:
		t := newTextTable("op", "needs", "nodes", "first node")
		t.right(2)
		for _, m := range c.Missing {
			t.add(printable.Text(m.Op), printable.Text(m.Needs), fmt.Sprint(len(m.Nodes)), printable.Text(m.Nodes[0]))
		}
		fmt.Fprintf(&b, "cannot be served: it needs what goestimator does not have\n%s", t)
	}
	for _, s := range c.Signatures {
		fmt.Fprintf(&b, "signature %s: ", printable.Text(s.Key))
		switch {
		case s.Error == "":
			b.WriteString("answers a dry run\n")
		case s.Unchecked:
			fmt.Fprintf(&b, "not checked: %s\n", printable.Text(s.Error))
		default:
			fmt.Fprintf(&b, "nothing is missing, but the dry run's made-up values were refused: %s\n", printable.Text(s.Error))
		}
	}
	return b.String()
}

// noModels fails if flags beside --check name models or divide requests.
func (f *serveFlags) noModels() error {
	if len(f.models) > 0 || f.configFile != "" || f.root != "" || f.basePath != "" {
		return errors.New("--check looks at one folder and serves nothing: expected no --model, --model-config-file, --model-root or --model-base-path")
	}
	if len(f.traffic) > 0 || len(f.shadow) > 0 {
		return errors.New("--check looks at one version, among which no traffic is divided: expected no --traffic and no --shadow")
	}
	return nil
}
