package networks

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/platform/params"
	"github.com/goestimator/goestimator/internal/platform/registry"
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// Network builds logits [batch, outputs] from features. Errors stick to the Builder.
type Network func(c models.Context, features models.Features, outputs int) *G.Node

// Constructor reads its parameters from p and returns the network. New reports p's
// errors, including unknown keys.
type Constructor func(p *Params) Network

var (
	// ErrUnknown is returned for a name that is not registered.
	ErrUnknown = registry.ErrUnknown
	// ErrDuplicate is returned if a name is registered twice.
	ErrDuplicate = registry.ErrDuplicate
)

var constructors = registry.New("network", map[string]Constructor{"linear": linear, "mlp": mlp, "cnn": cnn, "mobilenet_v2": mobileNetV2, "resnet20": resnet20,
	"resnet50": resnet50, "unet": unet, "text_cnn": textCNN, "lstm_classifier": lstmClassifier, "autoencoder": autoencoder, "dcn": dcn,
	"transformer_classifier": transformerClassifier, "sound_cnn": soundCNN, "gpt": gpt})

// Register adds a network under a new name.
func Register(name string, f Constructor) error {
	if f == nil {
		return fmt.Errorf("register network %q: expected a constructor", name)
	}
	return constructors.Register(name, f)
}

// Names returns the registered names, sorted.
func Names() []string { return constructors.Names() }

// Keys returns the parameters that the named network takes, sorted. A canned model
// passes them to the network and takes the others itself.
func Keys(name string) ([]string, error) {
	f, err := constructors.Lookup(name)
	if err != nil {
		return nil, err
	}
	p := &Params{params.Read("network "+name, nil)}
	f(p)
	return p.r.Known(), nil
}

// New returns the named network with the given parameters. Values may be numbers,
// strings and lists, as from YAML, JSON or a command line.
func New(name string, parameters map[string]any) (Network, error) {
	f, err := constructors.Lookup(name)
	if err != nil {
		return nil, err
	}
	p := &Params{params.Read("network "+name, parameters)}
	n := f(p)
	if err := p.r.Done(); err != nil {
		return nil, err
	}
	return n, nil
}
