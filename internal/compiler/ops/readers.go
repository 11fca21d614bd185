package ops

// Readers of the files that queues name, and whole files.
var (
	FixedLengthRecordReader = define("FixedLengthRecordReader() -> reader_handle: &string",
		"header_bytes: int = 0", "record_bytes: int", "footer_bytes: int = 0", "hop_bytes: int = 0", "container: string = ''", "shared_name: string = ''").state(Queues)
	FixedLengthRecordReaderV2 = define("FixedLengthRecordReaderV2() -> reader_handle: resource",
		"header_bytes: int = 0", "record_bytes: int", "footer_bytes: int = 0", "hop_bytes: int = 0", "container: string = ''", "shared_name: string = ''", "encoding: string = ''").state(Queues)
	IdentityReader = define("IdentityReader() -> reader_handle: &string",
		"container: string = ''", "shared_name: string = ''").state(Queues)
	IdentityReaderV2 = define("IdentityReaderV2() -> reader_handle: resource",
		"container: string = ''", "shared_name: string = ''").state(Queues)
	MatchingFiles                 = define("MatchingFiles(pattern: string) -> filenames: string").state(Queues)
	ReadFile                      = define("ReadFile(filename: string) -> contents: string").state(Queues)
	ReaderNumRecordsProduced      = define("ReaderNumRecordsProduced(reader_handle: &string) -> records_produced: int64").state(Queues)
	ReaderNumRecordsProducedV2    = define("ReaderNumRecordsProducedV2(reader_handle: resource) -> records_produced: int64").state(Queues)
	ReaderNumWorkUnitsCompleted   = define("ReaderNumWorkUnitsCompleted(reader_handle: &string) -> units_completed: int64").state(Queues)
	ReaderNumWorkUnitsCompletedV2 = define("ReaderNumWorkUnitsCompletedV2(reader_handle: resource) -> units_completed: int64").state(Queues)
	ReaderRead                    = define("ReaderRead(reader_handle: &string, queue_handle: &string) -> key: string, value: string").state(Queues)
	ReaderReadUpTo                = define("ReaderReadUpTo(reader_handle: &string, queue_handle: &string, num_records: int64) -> keys: string, values: string").state(Queues)
	ReaderReadUpToV2              = define("ReaderReadUpToV2(reader_handle: resource, queue_handle: resource, num_records: int64) -> keys: string, values: string").state(Queues)
	ReaderReadV2                  = define("ReaderReadV2(reader_handle: resource, queue_handle: resource) -> key: string, value: string").state(Queues)
	ReaderReset                   = define("ReaderReset(reader_handle: &string)").state(Queues)
	ReaderResetV2                 = define("ReaderResetV2(reader_handle: resource)").state(Queues)
	TFRecordReader                = define("TFRecordReader() -> reader_handle: &string",
		"container: string = ''", "shared_name: string = ''", "compression_type: string = ''").state(Queues)
	TFRecordReaderV2 = define("TFRecordReaderV2() -> reader_handle: resource",
		"container: string = ''", "shared_name: string = ''", "compression_type: string = ''").state(Queues)
	TextLineReader = define("TextLineReader() -> reader_handle: &string",
		"skip_header_lines: int = 0", "container: string = ''", "shared_name: string = ''").state(Queues)
	TextLineReaderV2 = define("TextLineReaderV2() -> reader_handle: resource",
		"skip_header_lines: int = 0", "container: string = ''", "shared_name: string = ''").state(Queues)
	WholeFileReader = define("WholeFileReader() -> reader_handle: &string",
		"container: string = ''", "shared_name: string = ''").state(Queues)
	WholeFileReaderV2 = define("WholeFileReaderV2() -> reader_handle: resource",
		"container: string = ''", "shared_name: string = ''").state(Queues)
	WriteFile = define("WriteFile(filename: string, contents: string)").state(Queues)
)
