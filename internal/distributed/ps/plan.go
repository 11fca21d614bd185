package ps

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/distributed/settings"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// Variable is a variable of the model in a Plan.
type Variable struct {
	Name  string
	DType tensor.DType
	Shape []int
	Parts int // along axis 0
	Group int // index of its rule in Rules.Groups; -1: no gradients, only assignments
	// Step says that the rules' step function changes the variable: it is whole, on server 0.
	Step bool `json:",omitempty"`
	// Slots are the checkpoint names of the optimizer's state that has this variable's
	// shape. Shared are the names of the scalars that its whole group shares.
	Slots, Shared []Slot
}

// Slot is a state of an optimizer.
type Slot struct {
	Name  string
	DType tensor.DType
	Init  float64
}

// Sync asks for synchronous steps: see Config.
type Sync struct {
	Aggregate int // gradients per step
	Workers   int // workers that compute them; those beyond Aggregate are backups
}

// Plan defines the variables, how they are partitioned and placed, and how gradients
// change them. It is a pure function of NewPlan's arguments, so every task makes its
// own; equal plans have equal Digests.
type Plan struct {
	Servers   int
	Placement Placement
	Variables []Variable
	Rules     Rules
	Sync      *Sync `json:",omitempty"` // nil: asynchronous
	// Staleness, if above 0, is the largest age of a gradient in steps: older ones are
	// dropped. For asynchronous plans.
	Staleness int64 `json:",omitempty"`
	// Settings are other values that must be equal on all tasks.
	Settings settings.Settings `json:",omitempty"`

	units  []Unit
	byName map[string]int // variable
	first  []int          // first unit of each variable
	digest string
}

// Unit is one part of a variable: rows [Lo, Hi) of axis 0, on one server. A
// scalar is one unit with one row.
type Unit struct {
	Variable int // index in Plan.Variables
	Part     int
	Lo, Hi   int
	Server   int
}

// Config has the arguments of NewPlan.
type Config struct {
	Servers     int
	Partitioner Partitioner // nil: NoPartitions
	Placement   Placement   // "": BySize
	Train       *optimizers.TrainOp
	Sync        *Sync
	Staleness   int64
	Settings    settings.Settings
}

// maxRanks bounds the ranks of workers.
const maxRanks = 1 << 16

// Limits of a plan, so that a hostile one is refused immediately.
const (
	maxServers   = 4096
	maxVariables = 1 << 16
	maxUnits     = 1 << 18
	maxRank      = 16 // dimensions of a variable
)

// NewPlan partitions and places variables. Optimizer state is placed with its variable.
func NewPlan(variables []*models.Variable, c Config) (*Plan, error) {
	rules, err := newRules(c.Train)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	p := &Plan{Servers: c.Servers, Placement: cmp.Or(c.Placement, BySize), Rules: rules, Sync: c.Sync, Staleness: c.Staleness, Settings: c.Settings}
	if c.Partitioner == nil {
		c.Partitioner = NoPartitions{}
	}
	group, err := assignGroups(c.Train)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	for _, v := range variables {
		x := Variable{Name: v.Name, DType: v.DType, Shape: slices.Clone(v.Shape), Parts: 1, Group: -1}
		if len(x.Shape) > 0 {
			x.Parts = max(min(c.Partitioner.Partitions(v.Name, v.DType, v.Shape), v.Shape[0]), 1)
		}
		if g, ok := group[v.Name]; ok {
			x.Group, x.Slots, x.Shared = g.group, g.slots, g.shared
			if p.Rules.whole(g.group) {
				x.Parts = 1
			}
			delete(group, v.Name)
		}
		p.Variables = append(p.Variables, x)
	}
	if err := p.assignStep(c.Train); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	for name := range group {
		return nil, fmt.Errorf("plan: the optimizer's variable %s is not among the variables", name)
	}
	return p, p.finish()
}

// finish checks the plan and computes its other fields.
func (p *Plan) finish() error {
	if err := p.check(); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	p.place()
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	sum := sha256.Sum256(text)
	p.digest = hex.EncodeToString(sum[:16])
	return nil
}

// Digest returns equal values for equal plans.
func (p *Plan) Digest() string { return p.digest }

// Units lists the parts; the parts of a variable are consecutive and in order.
func (p *Plan) Units() []Unit { return p.units }

// Index returns a variable's index, or false if the plan has none of that name.
func (p *Plan) Index(name string) (int, bool) {
	i, ok := p.byName[name]
	return i, ok
}

// unitsOf returns the numbers [lo, hi) of a variable's units.
func (p *Plan) unitsOf(variable int) (lo, hi int) {
	return p.first[variable], p.first[variable] + p.Variables[variable].Parts
}

// shapeOf returns the shape of a unit's value.
func (p *Plan) shapeOf(u Unit) []int {
	v := p.Variables[u.Variable]
	if len(v.Shape) == 0 {
		return []int{}
	}
	return append([]int{u.Hi - u.Lo}, v.Shape[1:]...)
}

// rows returns the length of a variable's axis 0, 1 for a scalar.
func (v *Variable) rows() int {
	if len(v.Shape) == 0 {
		return 1
	}
	return v.Shape[0]
}

// rowBytes returns the bytes of one row.
func (v *Variable) rowBytes() int {
	if len(v.Shape) == 0 {
		return v.DType.Size()
	}
	return int(sizeOf(v.DType, v.Shape[1:]))
}

func (v *Variable) check(groups int) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("variable %q: %s", v.Name, fmt.Sprintf(format, args...))
	}
	if v.Name == "" || v.Name[0] == 0 || v.DType.Size() == 0 {
		return bad("expected a name and a numeric type, got type %v", v.DType)
	}
	if len(v.Shape) > maxRank {
		return bad("rank %d: expected at most %d", len(v.Shape), maxRank)
	}
	total := int64(v.DType.Size())
	for _, n := range v.Shape {
		if n < 0 || n > 0 && total > math.MaxInt64/8/int64(n) {
			return bad("shape %v is not possible", v.Shape)
		}
		total *= int64(max(n, 1))
	}
	if v.Parts < 1 || v.Parts > max(v.rows(), 1) || len(v.Shape) == 0 && v.Parts != 1 {
		return bad("%d parts of shape %v", v.Parts, v.Shape)
	}
	if v.Step && (v.Parts != 1 || v.Group >= 0) {
		return bad("%d parts, group %d: expected one part without a group for a step function", v.Parts, v.Group)
	}
	if v.rows()/v.Parts >= math.MaxInt32 {
		return bad("%d rows in %d parts: expected parts of less than 2^31 rows", v.rows(), v.Parts)
	}
	if v.Group < -1 || v.Group >= groups || v.Group >= 0 && v.DType != tensor.Float32 && v.DType != tensor.Float64 {
		return bad("group %d of %d, type %v: expected a trained variable to be float32 or float64", v.Group, groups, v.DType)
	}
	return nil
}

func (p *Plan) check() error {
	switch {
	case p.Servers < 1 || p.Servers > maxServers:
		return fmt.Errorf("%d parameter servers: expected 1 to %d", p.Servers, maxServers)
	case len(p.Variables) == 0 || len(p.Variables) > maxVariables:
		return fmt.Errorf("%d variables: expected 1 to %d", len(p.Variables), maxVariables)
	case p.Staleness < 0:
		return fmt.Errorf("staleness %d: expected >= 0", p.Staleness)
	case p.Sync != nil && (p.Sync.Aggregate < 1 || p.Sync.Workers < p.Sync.Aggregate || p.Sync.Workers > maxRanks):
		return fmt.Errorf("%d replicas to aggregate of %d: expected 1 <= aggregated <= all <= %d", p.Sync.Aggregate, p.Sync.Workers, maxRanks)
	case p.Sync != nil && p.Staleness > 0:
		return errors.New("a staleness bound is for asynchronous steps: synchronous ones drop every stale gradient")
	}
	if err := errors.Join(p.Placement.check(), p.Rules.check()); err != nil {
		return err
	}
	if len(p.Rules.Transforms) > 0 && p.Sync == nil {
		return errors.New("a clip of gradients is for synchronous steps: workers of asynchronous ones clip before they push")
	}
	p.byName = make(map[string]int, len(p.Variables))
	units := 0
	for i := range p.Variables {
		v := &p.Variables[i]
		if err := v.check(len(p.Rules.Groups)); err != nil {
			return err
		}
		if v.Group >= 0 && v.Parts > 1 && p.Rules.whole(v.Group) {
			return fmt.Errorf("variable %q: %d parts: expected one, as its rule takes a norm of the whole", v.Name, v.Parts)
		}
		if _, twice := p.byName[v.Name]; twice {
			return fmt.Errorf("variable %q is there twice", v.Name)
		}
		p.byName[v.Name] = i
		if v.Step && p.Rules.Step == nil {
			return fmt.Errorf("variable %q is a step function's, and there is none", v.Name)
		}
		if units += v.Parts; units > maxUnits {
			return fmt.Errorf("more than %d parts", maxUnits)
		}
	}
	return nil
}

// bytes returns the memory of a unit, its slots included, at least 1.
func (p *Plan) bytes(u Unit) int64 {
	v := &p.Variables[u.Variable]
	return max(int64(u.Hi-u.Lo)*int64(v.rowBytes())*int64(1+len(v.Slots)), 1)
}

// parsePlan decodes and checks a plan from another process.
func parsePlan(text []byte) (*Plan, error) {
	p := &Plan{}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if _, err := settings.Parse(p.Settings.Encode()); err != nil { // they are part of every status
		return nil, fmt.Errorf("plan: %w", err)
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	for i := range p.Variables {
		if err := p.checkSlots(i); err != nil {
			return nil, fmt.Errorf("plan: %w", err)
		}
	}
	return p, nil
}
