// Prints the probabilities that a server's model fashion has for a list of images:
// node serve_fashion.js ADDRESS DIRECTORY IMAGES, where the directory holds the .proto files.
const fs = require('node:fs');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const [address, protos, file] = process.argv.slice(2);
const { tensorflow } = grpc.loadPackageDefinition(loader.loadSync(['tensorflow/serving/apis/prediction_service.proto'],
  { includeDirs: [protos], keepCase: true, longs: Number, enums: String }));
const predictions = new tensorflow.serving.PredictionService(address, grpc.credentials.createInsecure());
const images = JSON.parse(fs.readFileSync(file));
const request = {
  model_spec: { name: 'fashion' },
  inputs: { image: { dtype: 'DT_FLOAT', tensor_shape: { dim: [images.length, 28, 28, 1].map((size) => ({ size })) }, float_val: images.flat(3) } },
};
predictions.Predict(request, { deadline: Date.now() + 60000 }, (err, answer) => {
  if (err) {
    console.error(err);
    process.exit(1);
  }
  const flat = answer.outputs.probabilities.float_val;
  console.log(JSON.stringify(images.map((_, i) => flat.slice(10 * i, 10 * i + 10))));
  predictions.close();
});
