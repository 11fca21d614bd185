package ps

import (
	"context"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/rule"
	"log/slog"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// loopback starts servers on loopback sockets and returns a client.
func loopback(b *testing.B, servers int, c ClientConfig) *Client {
	b.Helper()
	jobs := map[string][]string{}
	var listeners []net.Listener
	for range servers {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		listeners = append(listeners, l)
		jobs["ps"] = append(jobs["ps"], l.Addr().String())
	}
	spec, discard := runconfig.NewClusterSpec(jobs), slog.New(slog.DiscardHandler)
	for i, l := range listeners {
		task := cluster.Task{Job: "ps", Index: i}
		c.Servers = append(c.Servers, task)
		n, err := cluster.Open(cluster.Config{Task: task, Listener: l, Spec: spec, Log: discard})
		if err != nil {
			b.Fatal(err)
		}
		s := NewServer(ServerConfig{})
		if err := n.Register(s.Service()); err != nil {
			b.Fatal(err)
		}
		n.Serve()
		b.Cleanup(func() { s.Close(); n.Close() })
	}
	n, err := cluster.Open(cluster.Config{Task: cluster.Task{Job: "worker"}, Spec: spec, Log: discard})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { n.Close() })
	c.Client = n
	return NewClient(c)
}

// begin makes a session of variables with plain SGD.
func begin(b *testing.B, c *Client, variables []*models.Variable, f Config) *Plan {
	b.Helper()
	f.Train = &optimizers.TrainOp{Groups: []optimizers.Group{{Variables: variables, Rule: rule.SGD{}, LearningRate: optimizers.Constant(0.01)}}}
	p, err := NewPlan(variables, f)
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Create(context.Background(), p, State{Value: Initial(variables, 1)}); err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkPullPush pulls a model of 100 MB from the servers and pushes
// gradients of the same size, over loopback; bytes count both directions.
func BenchmarkPullPush(b *testing.B) {
	for _, servers := range []int{1, 2} {
		b.Run(fmt.Sprintf("servers=%d", servers), func(b *testing.B) {
			var variables []*models.Variable
			for i := range 10 {
				variables = append(variables, &models.Variable{Name: fmt.Sprintf("w%d", i), DType: tensor.Float32, Shape: []int{2500, 1000}, Init: initializers.Ones()})
			}
			c := loopback(b, servers, ClientConfig{})
			p := begin(b, c, variables, Config{Servers: servers})
			m, err := NewMirror(p)
			if err != nil {
				b.Fatal(err)
			}
			var g []Gradient
			for _, v := range variables {
				g = append(g, Gradient{Variable: v.Name, Value: tensor.New(v.DType, v.Shape...)})
			}
			b.SetBytes(2 * 100_000_000)
			for i := 0; b.Loop(); i++ {
				if _, err := c.Pull(context.Background(), m); err != nil {
					b.Fatal(err)
				}
				if _, err := c.Push(context.Background(), Push{Step: int64(i), Gradients: g}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEmbedding pulls the rows for a batch from a table of 10 million rows
// and pushes their gradients: 40 rows for each example, width 16.
func BenchmarkEmbedding(b *testing.B) {
	const rows, width, perExample, batch = 10_000_000, 16, 40, 512
	v := []*models.Variable{{Name: "table", DType: tensor.Float32, Shape: []int{rows, width}, Init: initializers.Zeros()}}
	c := loopback(b, 2, ClientConfig{})
	begin(b, c, v, Config{Servers: 2, Partitioner: FixedShards(2)})
	r := rand.New(rand.NewPCG(1, 2))
	ids := make([]int64, batch*perExample)
	into := tensor.New(tensor.Float32, len(ids), width)
	for i := 0; b.Loop(); i++ {
		for k := range ids {
			ids[k] = r.Int64N(rows)
		}
		if _, err := c.PullRows(context.Background(), Rows{Variable: "table", IDs: ids, Into: into}); err != nil {
			b.Fatal(err)
		}
		if _, err := c.Push(context.Background(), Push{Step: int64(i), Gradients: []Gradient{{Variable: "table", Value: into, IDs: ids}}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "examples/s")
}

// BenchmarkFence takes and reads a checkpoint of a table of 10 million rows.
func BenchmarkFence(b *testing.B) {
	v := []*models.Variable{{Name: "table", DType: tensor.Float32, Shape: []int{10_000_000, 16}, Init: initializers.Zeros()}}
	c := loopback(b, 2, ClientConfig{})
	begin(b, c, v, Config{Servers: 2, Partitioner: FixedShards(2)})
	b.SetBytes(640_000_000)
	held := time.Duration(0)
	for b.Loop() {
		s, err := c.Fence(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		held += s.Held
		for _, x := range s.Parts {
			if _, err := x.Read(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(held.Microseconds())/float64(b.N), "held-us")
}

// BenchmarkRawTCP copies 100 MB over loopback there and back, for comparison
// with PullPush.
func BenchmarkRawTCP(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		echo := make([]byte, 1<<20)
		data := make([]byte, 100_000_000)
		for {
			if _, err := c.Write(data); err != nil {
				return
			}
			for n := 0; n < len(data); {
				k, err := c.Read(echo)
				if err != nil {
					return
				}
				n += k
			}
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	data, in := make([]byte, 100_000_000), make([]byte, 1<<20)
	b.SetBytes(2 * 100_000_000)
	for b.Loop() {
		for n := 0; n < len(data); {
			k, err := c.Read(in)
			if err != nil {
				b.Fatal(err)
			}
			n += k
		}
		if _, err := c.Write(data); err != nil {
			b.Fatal(err)
		}
	}
}
