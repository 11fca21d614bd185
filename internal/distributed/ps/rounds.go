package ps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/models/optimizers"
)

// rounds gathers the gradients of synchronous steps. A worker sends its gradients to all
// servers, to server 0 last; the first Aggregate workers whose gradients server 0 has make
// the step. It sends these ranks to the other servers, so that all use the same, and counts
// the step when all have applied it.
type rounds struct {
	s       *session
	servers ServerConfig
	running sync.WaitGroup

	mu      sync.Mutex
	step    int64
	got     map[int]*arrival // by rank
	closing bool             // server 0: enough have arrived
	merged  *merged
}

// merged are the means of one step's gradients, lookup by lookup, and assignments, by unit.
type merged struct {
	ranks     []int64
	gradients map[*unit][]*gradient
	assigned  map[*unit][]byte
}

func (r *rounds) init(s *session) { r.s, r.step, r.got = s, s.step, map[int]*arrival{} }

// reach sets how to reach the other servers.
func (r *rounds) reach(c ServerConfig) { r.servers = c }

// wait waits for a step that is being finished.
func (r *rounds) wait() { r.running.Wait() }

// over reports whether a step no longer accepts gradients of a rank: it has enough, or
// already has this rank's, from before the worker was restarted.
func (r *rounds) over(step int64, rank int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return step < r.step || step == r.step && (r.closing || r.got[rank] != nil)
}

// add adds a worker's gradients. They replace earlier ones of the same rank, except on
// server 0, which has already reported that those count.
func (r *rounds) add(a *arrival) (stale bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.got[int(a.Rank)]
	switch {
	case a.Step > r.step:
		freeAll(a.all)
		return false, status.Errorf(codes.InvalidArgument, "gradients of step %d, at step %d", a.Step, r.step)
	case a.Step < r.step || r.closing || old != nil && r.s.server == 0:
		freeAll(a.all)
		return true, nil
	}
	if old != nil {
		freeAll(old.all)
	}
	r.got[int(a.Rank)] = a
	if r.s.server == 0 && len(r.got) == r.s.plan.Sync.Aggregate {
		r.closing = true
		ranks := slices.Sorted(maps.Keys(r.got))
		r.running.Go(func() { r.finish(ranks) })
	}
	return false, nil
}

// came returns the ranks whose gradients have arrived.
func (r *rounds) came() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.got))
}

// finish completes a step on all servers; it runs on server 0.
func (r *rounds) finish(ranks []int) {
	ctx, cancel := context.WithTimeout(r.s.ends, r.servers.Timeout)
	defer cancel()
	if err := r.s.gate.enter(ctx); err != nil {
		r.s.fail(fmt.Errorf("synchronous step %d: %w", r.step, err))
		return
	}
	defer r.s.gate.leave()
	if err := r.finishAll(ctx, ranks); err != nil {
		r.s.fail(fmt.Errorf("synchronous step %d was not finished on all parameter servers: %w", r.step, err))
	}
}

func (r *rounds) finishAll(ctx context.Context, ranks []int) error {
	req := &wire.RoundRequest{Step: r.step, Ranks: int64s(ranks)}
	var err error
	if req.Factors, err = r.factors(ctx, req); err != nil {
		return err
	}
	if err := r.others(ctx, "Apply", req, func() proto.Message { return &wire.Empty{} }, nil); err != nil {
		return err
	}
	positions := map[int][]byte{}
	r.mu.Lock()
	for _, k := range ranks {
		if a := r.got[k]; len(a.position) > 0 {
			positions[k] = a.position
		}
	}
	r.mu.Unlock()
	if err := r.apply(req); err != nil {
		return err
	}
	r.s.advance(req.Step+1, positions)
	return nil
}

// factors returns the factors for the variables' mean gradients; norms are over the parts
// on all servers.
func (r *rounds) factors(ctx context.Context, req *wire.RoundRequest) ([]float64, error) {
	kind, limit := r.s.plan.Rules.clip()
	if kind != optimizers.ClipNorm && kind != optimizers.ClipGlobalNorm {
		return nil, nil
	}
	sums, err := r.norms(req)
	if err != nil {
		return nil, err
	}
	err = r.others(ctx, "Norms", req, func() proto.Message { return &wire.NormsReply{} }, func(m proto.Message) error {
		other := m.(*wire.NormsReply).Squares
		if len(other) != len(sums) {
			return fmt.Errorf("norms of %d variables, expected %d", len(other), len(sums))
		}
		for i, x := range other {
			sums[i] += x
		}
		return nil
	})
	return clipFactors(kind, limit, sums), err
}

// clip returns the transform of the rules, "" for none.
func (r *Rules) clip() (optimizers.TransformKind, float64) {
	if len(r.Transforms) == 0 {
		return "", 0
	}
	return r.Transforms[0].Kind, r.Transforms[0].Limit
}

// clipFactors returns limit / max(norm, limit) for each variable, or for all.
func clipFactors(kind optimizers.TransformKind, limit float64, squares []float64) []float64 {
	out := make([]float64, len(squares))
	total := 0.0
	for _, x := range squares {
		total += x
	}
	for i, x := range squares {
		if kind == optimizers.ClipGlobalNorm {
			x = total
		}
		norm := math.Sqrt(x)
		if out[i] = limit / max(norm, limit); kind == optimizers.ClipGlobalNorm {
			out[i] += norm - norm // NaN if the norm is not finite, as in one process
		}
	}
	return out
}

// others calls a method on all servers except 0 at the same time; use gets the replies, in
// the servers' order.
func (r *rounds) others(ctx context.Context, method string, req *wire.RoundRequest, reply func() proto.Message, use func(proto.Message) error) error {
	n := r.s.plan.Servers
	if n == 1 {
		return nil
	}
	if r.servers.Client == nil || len(r.servers.Servers) != n {
		return fmt.Errorf("%d parameter servers are configured, the plan has %d", len(r.servers.Servers), n)
	}
	replies := make([]proto.Message, n-1)
	errs := make([]error, n-1)
	var wg sync.WaitGroup
	for i, task := range r.servers.Servers[1:] {
		replies[i] = reply()
		wg.Go(func() { errs[i] = r.call(ctx, task, method, req, replies[i]) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil || use == nil {
		return err
	}
	for _, m := range replies {
		if err := use(m); err != nil {
			return err
		}
	}
	return nil
}

// call sends another server a request for this session, without its incarnation.
func (r *rounds) call(ctx context.Context, to cluster.Task, method string, req *wire.RoundRequest, reply proto.Message) error {
	q := &wire.RoundRequest{Id: &wire.SessionID{Session: r.s.id}, Step: req.Step, Ranks: req.Ranks, Factors: req.Factors}
	once := func() error {
		f, err := r.servers.Client.Call(ctx, to, methodName(method), &cluster.Frame{Header: wire.Encode(q)})
		if err != nil {
			return err
		}
		defer f.Release()
		return wire.Decode(f.Header, reply)
	}
	return retry(ctx, once, func(err error) {
		r.servers.Log.Warn("the connection between parameter servers broke; the request is sent again", "server", to, "method", method, "error", err)
	})
}

// merge computes the means of the given ranks' gradients, once; mu is held.
func (r *rounds) merge(req *wire.RoundRequest) (*merged, error) {
	if req.Step != r.step {
		return nil, status.Errorf(codes.FailedPrecondition, "step %d is asked for at step %d", req.Step, r.step)
	}
	if m := r.merged; m != nil && slices.Equal(m.ranks, req.Ranks) {
		return m, nil
	}
	m := &merged{ranks: req.Ranks, gradients: map[*unit][]*gradient{}, assigned: map[*unit][]byte{}}
	all := map[place][]weighted{}
	total := map[place]float64{}
	for _, k := range req.Ranks {
		a := r.got[int(k)]
		if a == nil {
			continue // it had nothing for this server
		}
		for _, in := range a.all {
			at := place{in.u, in.lookup}
			all[at] = append(all[at], weighted{&in.gradient, a.Weight})
			total[at] += a.Weight
			if in.kind == assignment && m.assigned[in.u] == nil {
				m.assigned[in.u] = in.values
			}
		}
	}
	places := slices.SortedFunc(maps.Keys(all), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.u.number, b.u.number), cmp.Compare(a.lookup, b.lookup))
	})
	means := make([]*gradient, len(places))
	err := parallel(len(places), func(i int) error {
		at := places[i]
		if m.assigned[at.u] != nil && !at.u.v.DType.Float() {
			return nil // assignments have no mean here: the value of the lowest rank counts
		}
		each := all[at]
		for k := range each {
			each[k].share = share(each[k].share, total[at], len(each))
		}
		means[i] = at.u.mean(each)
		return nil
	})
	for i, at := range places {
		switch {
		case means[i] == nil:
		case m.assigned[at.u] != nil:
			m.assigned[at.u] = means[i].values
		default:
			m.gradients[at.u] = append(m.gradients[at.u], means[i])
		}
	}
	r.merged = m
	return m, err
}

// share is a weight's part of the total; equal parts if all weights are 0.
func share(weight, total float64, n int) float64 {
	if total == 0 {
		return 1 / float64(n)
	}
	return weight / total
}

// norms returns the sums of squares of the means on this server, by variable.
func (r *rounds) norms(req *wire.RoundRequest) ([]float64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, err := r.merge(req)
	if err != nil {
		return nil, err
	}
	sums := make([]float64, len(r.s.plan.Variables))
	for _, number := range slices.Sorted(maps.Keys(r.s.units)) {
		u := r.s.units[number]
		for _, g := range m.gradients[u] {
			sums[u.Variable] += squares(u.v.DType, g.values)
		}
	}
	return sums, nil
}

// apply applies the means on this server and begins the next step.
func (r *rounds) apply(req *wire.RoundRequest) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.Step < r.step {
		return nil // a repeated request
	}
	m, err := r.merge(req)
	if err != nil {
		return err
	}
	if n := len(req.Factors); n > 0 && n != len(r.s.plan.Variables) {
		return status.Errorf(codes.InvalidArgument, "%d factors, expected %d", n, len(r.s.plan.Variables))
	}
	units := append(slices.Collect(maps.Keys(m.gradients)), slices.Collect(maps.Keys(m.assigned))...)
	if err := parallel(len(units), func(i int) error { return r.update(units[i], m, req) }); err != nil {
		return err
	}
	if err := r.applyTallies(req.Ranks); err != nil {
		return err
	}
	for u, lookups := range m.gradients {
		for _, g := range lookups {
			if !g.sparse {
				u.releaseBuffer(g.values)
			}
		}
	}
	for _, a := range r.got {
		freeAll(a.all)
	}
	r.step, r.got, r.merged, r.closing = r.step+1, map[int]*arrival{}, nil, false
	r.s.count(func(c *Stats) { c.Steps++ })
	return nil
}

func (r *rounds) update(u *unit, m *merged, req *wire.RoundRequest) error {
	lookups := m.gradients[u]
	if lookups == nil {
		return u.assign(m.assigned[u])
	}
	factor, bound := 1.0, 0.0
	if len(req.Factors) > 0 {
		factor = req.Factors[u.Variable]
	}
	if kind, limit := r.s.plan.Rules.clip(); kind == optimizers.ClipValue {
		bound = limit
	}
	for _, g := range lookups {
		rescale(u.v.DType, g.values, factor, bound)
	}
	g := u.sum(lookups)
	if !g.sparse && len(lookups) > 1 {
		defer u.releaseBuffer(g.values)
	}
	return u.apply(context.Background(), req.Step, g)
}

// norms and applyRound are server 0's requests to the others. They are not bound to an
// incarnation: the session's number is enough.

func (s *Server) norms(_ context.Context, req *wire.RoundRequest) (proto.Message, error) {
	x, err := s.round(req)
	if err != nil {
		return nil, err
	}
	sums, err := x.rounds.norms(req)
	return &wire.NormsReply{Squares: sums}, err
}

func (s *Server) applyRound(ctx context.Context, req *wire.RoundRequest) (proto.Message, error) {
	x, err := s.round(req)
	if err != nil {
		return nil, err
	}
	if err := x.enter(ctx); err != nil {
		return nil, err
	}
	defer x.gate.leave()
	return &wire.Empty{}, x.rounds.apply(req)
}

func (s *Server) round(req *wire.RoundRequest) (*session, error) {
	x, err := s.find(&wire.SessionID{Incarnation: s.c.Incarnation, Session: req.Id.GetSession()})
	if err != nil {
		return nil, err
	}
	if x.plan.Sync == nil || x.server == 0 || len(req.Ranks) > maxRanks {
		return nil, status.Error(codes.InvalidArgument, "not a round of a synchronous plan")
	}
	return x, nil
}
