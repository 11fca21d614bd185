package server

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/clusterruntime/codec"
	"github.com/goestimator/goestimator/internal/clusterruntime/master"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/runconfig"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// peers are the workers of the cluster: the own one, and connections to the others.
type peers struct {
	cluster runconfig.ClusterSpec
	own     master.Task
	local   service.Local
	options []grpc.DialOption

	mu      sync.Mutex
	conns   map[master.Task]*grpc.ClientConn
	workers map[master.Task]*alive
}

func newPeers(c Config) *peers {
	secure := cmp.Or[credentials.TransportCredentials](c.Security.Dial, insecure.NewCredentials())
	p := &peers{cluster: c.Cluster, own: master.Task{Job: c.Job, Index: c.Task}, conns: map[master.Task]*grpc.ClientConn{}, workers: map[master.Task]*alive{}}
	p.options = []grpc.DialOption{
		grpc.WithTransportCredentials(secure), grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage), grpc.ForceCodecV2(codec.Codec{})),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window),
		grpc.WithWriteBufferSize(buffer), grpc.WithReadBufferSize(buffer),
	}
	if c.Security.Token != "" {
		p.options = append(p.options, grpc.WithPerRPCCredentials(service.Token(c.Security.Token)))
	}
	return p
}

// Tasks implements master.Workers.
func (p *peers) Tasks() (all []master.Task) {
	for _, job := range p.cluster.Jobs() {
		for _, i := range p.cluster.Tasks(job) {
			all = append(all, master.Task{Job: job, Index: i})
		}
	}
	return all
}

// Worker implements master.Workers and worker.Peers.
func (p *peers) Worker(job string, task int) (service.Caller, error) {
	t := master.Task{Job: job, Index: task}
	if t == p.own {
		return p.local, nil
	}
	address, ok := p.cluster.Address(job, task)
	if !ok {
		return nil, fmt.Errorf("task %d of job %q is not in the cluster", task, job)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.conns[t]
	if c == nil {
		var err error
		if c, err = grpc.NewClient("passthrough:///"+address, p.options...); err != nil {
			return nil, err
		}
		p.conns[t] = c
		p.workers[t] = &alive{Remote: service.Remote{Conn: c, Service: service.Worker}, task: t.String(), every: askEvery, patience: patience}
	}
	return p.workers[t], nil
}

func (p *peers) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []error
	for _, c := range p.conns {
		all = append(all, c.Close())
	}
	return errors.Join(all...)
}
