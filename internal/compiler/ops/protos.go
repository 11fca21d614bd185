package ops

// Messages of protocol buffers.
var (
	DecodeProtoV2 = define("DecodeProtoV2(bytes: string) -> sizes: int32, values: [output_types]", "message_type: string", "field_names: list(string)", "output_types: list(type)", "descriptor_source: string = 'local://'", "message_format: string = 'binary'", "sanitize: bool = false").grows()
	EncodeProto   = define("EncodeProto(sizes: int32, values: [Tinput_types]) -> bytes: string", "field_names: list(string)", "message_type: string", "descriptor_source: string = 'local://'", "Tinput_types: list(type)")
)
