package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/collective"
	"github.com/goestimator/goestimator/internal/distributed/keyvalue"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// The subject allreduce sums float32 tensors between processes on this machine.
// A case is PROCESSESxSIZE. Its unit is the bandwidth of one worker's link: each
// sends 2(N-1)/N times the tensor, whatever the algorithm, as in NCCL's tests.
var allreduceCases = []string{"2x4KB", "2x1MB", "2x16MB", "2x100MB", "4x4KB", "4x1MB", "4x16MB", "4x100MB"}

// ringProcesses is the number of processes; cases with fewer leave some idle.
const ringProcesses = 4

func parseRing(name string) (processes, bytes int, err error) {
	unit := ""
	if _, err = fmt.Sscanf(name, "%dx%d%s", &processes, &bytes, &unit); err != nil || unit != "KB" && unit != "MB" || processes < 2 || processes > ringProcesses {
		return 0, 0, fmt.Errorf("case %q: expected PROCESSESxSIZE, as 2x16MB, of at most %d processes", name, ringProcesses)
	}
	return processes, bytes * map[string]int{"KB": 1e3, "MB": 1e6}[unit] / 4 / processes * 4 * processes, nil
}

// ringBytes is the number of bytes that a worker sends in one step of a case.
func ringBytes(name string) float64 {
	n, bytes, err := parseRing(name)
	if err != nil {
		return 0
	}
	return float64(bytes) * 2 * float64(n-1) / float64(n)
}

// ringElement is element i of a rank's tensor.
func ringElement(rank, i int) float32 { return float32((i%1000 + 1) * (rank + 1)) }

// ringChecked are the indices of the elements to compare.
func ringChecked(bytes int) []int { return []int{0, bytes/8 + 1, bytes/4 - 1} }

func ringReference() map[string][]float64 {
	out := map[string][]float64{}
	for _, name := range allreduceCases {
		n, bytes, _ := parseRing(name)
		for _, i := range ringChecked(bytes) {
			sum := 0.0
			for rank := range n {
				sum += float64(ringElement(rank, i))
			}
			out[name] = append(out[name], sum)
		}
	}
	return out
}

func allreduceField(_ context.Context, s settings, _ string) (field, error) {
	f := field{reference: ringReference(), tolerance: 1e-6, contenders: []contender{{name: ours}, {name: "raw TCP"}}}
	for i, kind := range []string{"ring", "ring_tcp"} {
		argv, err := self(kind)
		if err != nil {
			return f, err
		}
		f.contenders[i].argv = argv
	}
	f.contenders = append(f.contenders, s.peer("torch gloo", "gloo.py", allreduceCases...))
	return f, nil
}

// ringMember runs the steps of a case; all members of the case do so at once.
type ringMember interface {
	run(c command) error
	close()
}

// ringWorker is a process of the ring. Without arguments it is rank 0, which
// starts the others and forwards each command to the participants.
func ringWorker(kind string, connect func(rank int, l net.Listener, addresses []string) (ringMember, map[string][]float64, error)) func(*link, []string) error {
	return func(l *link, args []string) error {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		addresses := []string{listener.Addr().String()}
		if len(args) > 0 {
			rank, err := strconv.Atoi(args[0])
			if err != nil {
				return err
			}
			return followRing(l, rank, listener, connect)
		}
		var others []*child
		defer func() {
			for _, o := range others {
				_ = o.stop()
			}
		}()
		for rank := 1; rank < ringProcesses; rank++ {
			argv, err := self(kind, strconv.Itoa(rank))
			if err != nil {
				return err
			}
			o, err := start(context.Background(), contender{name: fmt.Sprint("rank ", rank), argv: argv}, threads())
			if err != nil {
				return err
			}
			others, addresses = append(others, o), append(addresses, o.ready.Version)
		}
		for _, o := range others {
			fmt.Fprintln(o.in, "run", 0, strings.Join(addresses, ","))
		}
		m, values, err := connect(0, listener, addresses)
		if err != nil {
			return err
		}
		defer m.close()
		return l.serve(reply{Values: values, Version: runtime.Version()}, func(c command) (reply, error) { return leadRing(m, others, c) })
	}
}

// leadRing runs a command on all processes of its case and times it.
func leadRing(m ringMember, others []*child, c command) (reply, error) {
	n, _, err := parseRing(c.name)
	if err != nil {
		return reply{}, err
	}
	for _, o := range others[:n-1] {
		fmt.Fprintln(o.in, "run", c.steps+1, c.name)
	}
	if err := m.run(command{1, c.name}); err != nil { // until all members are ready
		return reply{}, err
	}
	before, begun := mallocs(), time.Now()
	if err := m.run(c); err != nil {
		return reply{}, err
	}
	r := reply{Seconds: time.Since(begun).Seconds(), Allocs: float64(mallocs()-before) / float64(c.steps)}
	for _, o := range others[:n-1] {
		if _, err := o.read(); err != nil {
			return reply{}, err
		}
	}
	return r, nil
}

// followRing is the main loop of a process that rank 0 started.
func followRing(l *link, rank int, listener net.Listener, connect func(int, net.Listener, []string) (ringMember, map[string][]float64, error)) error {
	if err := l.send(reply{Version: listener.Addr().String()}); err != nil {
		return err
	}
	c, ok, err := l.next()
	if err != nil || !ok {
		return err
	}
	m, _, err := connect(rank, listener, strings.Split(c.name, ","))
	if err != nil {
		return err
	}
	defer m.close()
	for {
		c, ok, err := l.next()
		if err != nil || !ok {
			return err
		}
		if err := m.run(c); err != nil {
			return err
		}
		if err := l.send(reply{}); err != nil {
			return err
		}
	}
}

// collectiveMember sums with package collective.
type collectiveMember struct {
	node   *cluster.Node
	groups map[int]*collective.Group
	tensor map[string]*tensor.Tensor
}

func connectCollective(rank int, l net.Listener, addresses []string) (ringMember, map[string][]float64, error) {
	tasks := make([]cluster.Task, len(addresses))
	for i := range tasks {
		tasks[i] = cluster.Task{Job: "worker", Index: i}
	}
	node, err := cluster.Open(cluster.Config{Task: tasks[rank], Listener: l, Log: slog.New(slog.DiscardHandler),
		Spec: runconfig.NewClusterSpec(map[string][]string{"worker": addresses})})
	if err != nil {
		return nil, nil, err
	}
	m := &collectiveMember{node, map[int]*collective.Group{}, map[string]*tensor.Tensor{}}
	e, err := collective.Attach(node)
	if err != nil {
		return nil, nil, err
	}
	if rank == 0 {
		if err := node.Register(keyvalue.NewStore(keyvalue.Options{}).Service()); err != nil {
			return nil, nil, err
		}
	}
	node.Serve()
	for _, n := range []int{2, 4} {
		if rank >= n {
			continue
		}
		m.groups[n], err = collective.Form(context.Background(), collective.Config{Endpoint: e, Store: keyvalue.NewClient(node, tasks[0]),
			Name: fmt.Sprint("ring", n), Tasks: tasks[:n], Rank: rank})
		if err != nil {
			return nil, nil, err
		}
	}
	values, err := m.check(rank)
	return m, values, err
}

// check sums one tensor for each case.
func (m *collectiveMember) check(rank int) (map[string][]float64, error) {
	values := map[string][]float64{}
	for _, name := range allreduceCases {
		n, bytes, err := parseRing(name)
		if err != nil {
			return nil, err
		}
		if rank >= n {
			continue
		}
		t := tensor.New(tensor.Float32, bytes/4)
		for i := range t.Len() {
			tensor.Values[float32](t)[i] = ringElement(rank, i)
		}
		m.tensor[name] = t
		if err := m.run(command{1, name}); err != nil {
			return nil, err
		}
		for _, i := range ringChecked(bytes) {
			values[name] = append(values[name], t.Float(i))
		}
	}
	return values, nil
}

func (m *collectiveMember) run(c command) error {
	n, _, err := parseRing(c.name)
	if err != nil {
		return err
	}
	tensors := []*tensor.Tensor{m.tensor[c.name]}
	for range c.steps {
		if err := m.groups[n].AllReduce(context.Background(), tensors, collective.Sum); err != nil {
			return err
		}
	}
	return nil
}

func (m *collectiveMember) close() {
	for _, g := range m.groups {
		g.Close()
	}
	m.node.Close()
	_ = os.Stdout.Sync()
}
