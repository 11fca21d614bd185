package server

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/internal/clusterruntime/codec"
	"github.com/goestimator/goestimator/internal/clusterruntime/master"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/clusterruntime/transport"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// peers are the workers of a cluster: this task's, and connections to the others.
type peers struct {
	own       master.Task
	addresses map[master.Task]string
	local     service.Local
	shared    *connections
	closed    bool // no connections to other clusters' addresses, as callers send a token

	mu      sync.Mutex
	conns   map[string]*connection // by address
	workers map[master.Task]*alive
}

func newPeers(c Config) *peers {
	secure := cmp.Or[credentials.TransportCredentials](c.Security.Dial, insecure.NewCredentials())
	options := transport.Options{Credentials: secure, GRPC: []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage), grpc.ForceCodecV2(codec.Codec{})),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window),
		grpc.WithWriteBufferSize(buffer), grpc.WithReadBufferSize(buffer),
	}}
	if c.Security.Token != "" {
		options.PerCall = service.Token(c.Security.Token)
	}
	addresses, own := map[master.Task]string{}, map[string]bool{}
	for _, job := range c.Cluster.Jobs() {
		for _, i := range c.Cluster.Tasks(job) {
			address, _ := c.Cluster.Address(job, i)
			addresses[master.Task{Job: job, Index: i}], own[address] = address, true
		}
	}
	p := &peers{shared: &connections{options: options, own: own, all: map[string]*connection{}}, closed: c.Security.Token != ""}
	return p.of(master.Task{Job: c.Job, Index: c.Task}, addresses)
}

// of returns the peers in another cluster, which shares connections with p.
func (p *peers) of(own master.Task, addresses map[master.Task]string) *peers {
	return &peers{own: own, addresses: addresses, local: p.local, shared: p.shared, closed: p.closed, conns: map[string]*connection{}, workers: map[master.Task]*alive{}}
}

// Tasks implements master.Workers.
func (p *peers) Tasks() []master.Task {
	return slices.SortedFunc(maps.Keys(p.addresses), func(a, b master.Task) int { return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Index, b.Index)) })
}

// Worker implements master.Workers and worker.Peers.
func (p *peers) Worker(job string, task int) (service.Caller, error) {
	t := master.Task{Job: job, Index: task}
	if t == p.own {
		return p.local, nil
	}
	address, ok := p.addresses[t]
	if !ok {
		return nil, fmt.Errorf("task %d of job %q is not in the cluster", task, job)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.workers[t]; w != nil {
		return w, nil
	}
	c := p.conns[address]
	if c == nil {
		var err error
		if c, err = p.shared.open(address); err != nil {
			return nil, err
		}
		p.conns[address] = c
	}
	p.workers[t] = &alive{Remote: service.Remote{Conn: c, Service: service.Worker}, task: t.String(), every: askEvery, patience: patience}
	return p.workers[t], nil
}

// close closes the connections that no other cluster uses.
func (p *peers) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	conns := p.conns
	p.conns, p.workers = map[string]*connection{}, map[master.Task]*alive{}
	return p.shared.close(conns)
}
