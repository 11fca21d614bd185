package main

import (
	"context"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/rule"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/ps"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// The subject ps pulls a model from parameter servers, which are separate processes,
// and pushes gradients of the same size. A case is the number of servers.
var psCases = []string{"1ps", "2ps"}

const (
	psModelBytes = 100_000_000
	psVariables  = 10
	psProcesses  = 3 // one for the first case, two for the second
	psRate       = 0.01
)

// psServers returns the first process that serves a case, and their number.
func psServers(name string) (from, n int, err error) {
	if _, err := fmt.Sscanf(name, "%dps", &n); err != nil || n < 1 || n > 2 {
		return 0, 0, fmt.Errorf("case %q: expected 1ps or 2ps", name)
	}
	return n - 1, n, nil
}

// psGradient is element i of every variable's gradient; values start at 1.
func psGradient(i int) float32 { return float32(i%1000) / 1000 }

// psChecked are the indices of the elements to compare after the first step.
func psChecked() []int { return []int{0, 999, psModelBytes/4/psVariables - 2} }

func psReference() map[string][]float64 {
	out := map[string][]float64{}
	for _, name := range psCases {
		for _, i := range psChecked() {
			out[name] = append(out[name], 1-psRate*float64(psGradient(i)))
		}
	}
	return out
}

func psField(context.Context, settings, string) (field, error) {
	f := field{reference: psReference(), tolerance: 1e-6, contenders: []contender{{name: ours}, {name: "raw TCP"}}}
	for i, kind := range []string{"ps", "ps_tcp"} {
		argv, err := self(kind)
		if err != nil {
			return f, err
		}
		f.contenders[i].argv = argv
	}
	return f, nil
}

// psBytes is the bandwidth in GB/s, counting both directions.
func psBytes(steps int, r reply) float64 { return 2 * psModelBytes * float64(steps) / r.Seconds / 1e9 }

// psCopier copies the model of a case there and back.
type psCopier interface {
	step(name string) error
	close()
}

// psLeader starts the servers and runs the steps.
func psLeader(serverKind string, connect func(addresses []string) (psCopier, map[string][]float64, error)) func(*link, []string) error {
	return func(l *link, _ []string) error {
		servers, addresses, err := startPeers(serverKind, psProcesses)
		defer stopAll(servers)
		if err != nil {
			return err
		}
		for i, s := range servers { // its index, and the servers of its case
			spec := addresses[:1]
			if i > 0 {
				spec = addresses[1:]
			}
			if _, err := s.run(max(0, i-1), strings.Join(spec, ",")); err != nil {
				return err
			}
		}
		m, values, err := connect(addresses)
		if err != nil {
			return err
		}
		defer m.close()
		return l.serve(reply{Values: values, Version: runtime.Version()}, func(c command) (reply, error) {
			before, begun := mallocs(), time.Now()
			for range c.steps {
				if err := m.step(c.name); err != nil {
					return reply{}, err
				}
			}
			return reply{Seconds: time.Since(begun).Seconds(), Allocs: float64(mallocs()-before) / float64(c.steps)}, nil
		})
	}
}

// startPeers starts n processes of that kind, which report their addresses as versions.
func startPeers(kind string, n int) (ws []*child, addresses []string, err error) {
	argv, err := self(kind)
	if err != nil {
		return nil, nil, err
	}
	for i := range n {
		w, err := start(context.Background(), contender{name: fmt.Sprint(kind, " ", i), argv: argv}, threads())
		if err != nil {
			return ws, nil, err
		}
		ws, addresses = append(ws, w), append(addresses, w.ready.Version)
	}
	return ws, addresses, nil
}

func stopAll(ws []*child) {
	for _, w := range ws {
		_ = w.stop()
	}
}

// psServerWorker is a parameter server: it listens, receives its index and the
// addresses of all servers, and serves until its input ends.
func psServerWorker(l *link, _ []string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := l.send(reply{Version: listener.Addr().String()}); err != nil {
		return err
	}
	c, ok, err := l.next()
	if err != nil || !ok {
		return err
	}
	n, err := cluster.Open(cluster.Config{Task: cluster.Task{Job: "ps", Index: c.steps}, Listener: listener, Log: slog.New(slog.DiscardHandler),
		Spec: runconfig.NewClusterSpec(map[string][]string{"ps": strings.Split(c.name, ",")})})
	if err != nil {
		return err
	}
	defer n.Close()
	s := ps.NewServer(ps.ServerConfig{})
	defer s.Close()
	if err := n.Register(s.Service()); err != nil {
		return err
	}
	n.Serve()
	if err := l.send(reply{}); err != nil {
		return err
	}
	_, _, err = l.next()
	return err
}

// psClients copies with package ps, by case.
type psClients map[string]*psCase

type psCase struct {
	node      *cluster.Node
	client    *ps.Client
	mirror    *ps.Mirror
	gradients []ps.Gradient
	at        int64 // global step
}

func connectPS(addresses []string) (psCopier, map[string][]float64, error) {
	m, values := psClients{}, map[string][]float64{}
	for _, name := range psCases {
		from, n, err := psServers(name)
		if err != nil {
			return m, nil, err
		}
		if m[name], err = openPS(addresses[from : from+n]); err != nil {
			return m, nil, err
		}
		if err := m.step(name); err != nil {
			return m, nil, err
		}
		if _, err := m[name].client.Pull(context.Background(), m[name].mirror); err != nil {
			return m, nil, err
		}
		for i, k := range psChecked() {
			values[name] = append(values[name], m[name].mirror.Tensor(fmt.Sprint("w", i)).Float(k))
		}
	}
	return m, values, nil
}

// openPS creates the model on those servers.
func openPS(addresses []string) (*psCase, error) {
	node, err := cluster.Open(cluster.Config{Task: cluster.Task{Job: "worker"}, Log: slog.New(slog.DiscardHandler),
		Spec: runconfig.NewClusterSpec(map[string][]string{"ps": addresses})})
	if err != nil {
		return nil, err
	}
	k := &psCase{node: node}
	c := ps.ClientConfig{Client: node}
	for i := range addresses {
		c.Servers = append(c.Servers, cluster.Task{Job: "ps", Index: i})
	}
	k.client = ps.NewClient(c)
	var variables []*models.Variable
	for i := range psVariables {
		v := &models.Variable{Name: fmt.Sprint("w", i), DType: tensor.Float32, Shape: []int{psModelBytes / 4 / psVariables / 1000, 1000}, Init: initializers.Ones()}
		g := tensor.New(v.DType, v.Shape...)
		for e := range g.Len() {
			tensor.Values[float32](g)[e] = psGradient(e)
		}
		variables, k.gradients = append(variables, v), append(k.gradients, ps.Gradient{Variable: v.Name, Value: g})
	}
	train := &optimizers.TrainOp{Groups: []optimizers.Group{{Variables: variables, Rule: rule.SGD{}, LearningRate: optimizers.Constant(psRate)}}}
	plan, err := ps.NewPlan(variables, ps.Config{Servers: len(addresses), Train: train})
	if err != nil {
		return k, err
	}
	if err := k.client.Create(context.Background(), plan, ps.State{Value: ps.Initial(variables, 1)}); err != nil {
		return k, err
	}
	k.mirror, err = ps.NewMirror(plan)
	return k, err
}

func (m psClients) step(name string) error {
	k := m[name]
	if k == nil {
		return fmt.Errorf("no case %q", name)
	}
	if _, err := k.client.Pull(context.Background(), k.mirror); err != nil {
		return err
	}
	r, err := k.client.Push(context.Background(), ps.Push{Step: k.at, Gradients: k.gradients})
	k.at = r.GlobalStep
	return err
}

func (m psClients) close() {
	for _, k := range m {
		if k != nil {
			k.node.Close()
		}
	}
}
