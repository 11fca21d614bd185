package traffic

import (
	"fmt"
	"sync"

	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/goestimator/goestimator/internal/format/pbtext"
)

// The numbers of the fields that ModelConfig has here in addition to TensorFlow Serving's, and their names in text form.
const (
	trafficField = 1001
	shadowField  = 1002
	trafficName  = "traffic"
	shadowName   = "shadow"
)

// Schema has the fields in the form of a .proto file, for programs that send a ModelConfig with HandleReloadConfigRequest.
const Schema = `message ModelConfig {
  // ... the fields of TensorFlow Serving, and:
  message Traffic {
    oneof version_choice {
      int64 version = 1;
      string version_label = 2;
    }
    uint32 weight = 3;
  }
  message Shadow {
    oneof version_choice {
      int64 version = 1;
      string version_label = 2;
    }
    double percent = 3;    // of the requests that other versions answer; 0: all
    double tolerance = 4;  // by which numbers may differ; 0: 0.001
  }
  repeated Traffic traffic = 1001;
  Shadow shadow = 1002;
}
`

// Parse reads a ModelServerConfig in text form, with the fields of this package. TensorFlow Serving's type keeps them as unknown fields,
// which are compared, cloned and sent with it.
func Parse(text []byte) (*config.ModelServerConfig, error) {
	types, err := extended()
	if err != nil {
		return nil, err
	}
	m := dynamicpb.NewMessage(types.server)
	if err := pbtext.Unmarshal(text, m); err != nil {
		return nil, err
	}
	c := &config.ModelServerConfig{}
	if err := convert(m, c); err != nil {
		return nil, fmt.Errorf("model config: %w", err)
	}
	return c, nil
}

// convert turns a message into another type with the same wire format.
func convert(from, to proto.Message) error {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(from)
	if err != nil {
		return err
	}
	return proto.Unmarshal(b, to)
}

// types are the descriptors of the extended messages.
type types struct {
	server, model protoreflect.MessageDescriptor
}

// extended returns the descriptors of TensorFlow Serving's messages, with the two more fields of ModelConfig.
var extended = sync.OnceValues(func() (t types, err error) {
	file := protodesc.ToFileDescriptorProto((&config.ModelServerConfig{}).ProtoReflect().Descriptor().ParentFile())
	for _, m := range file.MessageType {
		if m.GetName() == "ModelConfig" {
			extend(m, "."+file.GetPackage()+".ModelConfig")
		}
	}
	made, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
	if err != nil {
		return t, fmt.Errorf("model config: %w", err)
	}
	return types{made.Messages().ByName("ModelServerConfig"), made.Messages().ByName("ModelConfig")}, nil
})

// extend adds the fields to the descriptor of ModelConfig, whose full name is full.
func extend(m *descriptorpb.DescriptorProto, full string) {
	const optional, repeated = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL, descriptorpb.FieldDescriptorProto_LABEL_REPEATED
	field := func(name string, number int32, kind descriptorpb.FieldDescriptorProto_Type) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{Name: proto.String(name), Number: proto.Int32(number), Type: kind.Enum(), Label: optional.Enum()}
	}
	message := func(name string, more ...*descriptorpb.FieldDescriptorProto) {
		choice := []*descriptorpb.FieldDescriptorProto{
			field("version", 1, descriptorpb.FieldDescriptorProto_TYPE_INT64), field("version_label", 2, descriptorpb.FieldDescriptorProto_TYPE_STRING)}
		for _, f := range choice {
			f.OneofIndex = proto.Int32(0)
		}
		m.NestedType = append(m.NestedType, &descriptorpb.DescriptorProto{Name: proto.String(name), Field: append(choice, more...),
			OneofDecl: []*descriptorpb.OneofDescriptorProto{{Name: proto.String("version_choice")}}})
	}
	message("Traffic", field("weight", 3, descriptorpb.FieldDescriptorProto_TYPE_UINT32))
	message("Shadow", field("percent", 3, descriptorpb.FieldDescriptorProto_TYPE_DOUBLE), field("tolerance", 4, descriptorpb.FieldDescriptorProto_TYPE_DOUBLE))
	rules := []*descriptorpb.FieldDescriptorProto{
		field(trafficName, trafficField, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE), field(shadowName, shadowField, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE)}
	rules[0].Label, rules[0].TypeName = repeated.Enum(), proto.String(full+".Traffic")
	rules[1].TypeName = proto.String(full + ".Shadow")
	m.Field = append(m.Field, rules...)
}
