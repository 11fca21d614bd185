package main

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/runconfig"
)

// The subject overhead trains the MLP in a cluster and in a single process. All
// workers have the same batches, so that all losses are equal. A case
// is a strategy; two workers train two batches at the same time on the
// same cores.
var overheadCases = []string{"chief+1ps", "2-workers"}

// overheadKinds are our workers for the cases.
var overheadKinds = map[string]string{"chief+1ps": "overhead_ps", "2-workers": "overhead_ring"}

func overheadField(ctx context.Context, s settings, dir string) (field, error) {
	f, err := s.trainField(ctx, "mlp", dir)
	if err != nil {
		return f, err
	}
	local := f.contenders[0]
	local.name = "local step"
	argv, err := self("overhead", dir)
	f.contenders = []contender{{name: ours, argv: argv}, local}
	return f, err
}

// overheadWorker starts a process for each case, and forwards commands to it.
func overheadWorker(l *link, args []string) error {
	chiefs := map[string]*child{}
	defer func() {
		for _, w := range chiefs {
			_ = w.stop()
		}
	}()
	var first reply
	for i, name := range overheadCases {
		argv, err := self(overheadKinds[name], args...)
		if err != nil {
			return err
		}
		w, err := start(context.Background(), contender{name: name, argv: argv}, threads())
		if err != nil {
			return err
		}
		chiefs[name] = w
		if i == 0 {
			first = w.ready
		}
		for k, v := range w.ready.Values[""] {
			if want := first.Values[""][k]; math.Abs(v-want) > 1e-4 {
				return fmt.Errorf("%s: loss of step %d is %v, with %s it is %v", name, k, v, overheadCases[0], want)
			}
		}
	}
	return l.serve(first, func(c command) (reply, error) {
		w := chiefs[c.name]
		if w == nil {
			return reply{}, fmt.Errorf("no case %q", c.name)
		}
		return w.run(c.steps, "")
	})
}

// chiefWorker is the chief of a cluster that trains the MLP.
func chiefWorker(job string, s runconfig.Strategy) func(*link, []string) error {
	return func(l *link, args []string) error {
		t, err := joinCluster(map[string]int{job: 1}, args...)
		defer t.close()
		if err != nil {
			return err
		}
		option, err := inCluster(s)
		if err != nil {
			return err
		}
		return train(context.Background(), workloads["mlp"], args[0], &pacer{link: l, checked: checkedSteps}, option)
	}
}

// workerTask is the second worker of multi_worker_mirrored: it takes part in the
// chief's steps until the chief ends the training.
func workerTask(l *link, args []string) error {
	if args[0] == denseTaskArgument {
		steps, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return denseTask(l, steps)
	}
	if args[0] == functionsTaskArgument {
		return functionsTask(l)
	}
	option, err := inCluster(runconfig.Strategy{Name: "multi_worker_mirrored"})
	if err != nil {
		return err
	}
	ctx, cancel := untilClosed(l)
	defer cancel()
	if err := l.send(reply{}); err != nil {
		return err
	}
	return train(ctx, workloads["mlp"], args[0], hooks.Base{}, option)
}
