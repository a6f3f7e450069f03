import { isSupported, oldNodeMessage } from './supported-node.mjs';

if (!isSupported(process.version)) {
  process.stderr.write(`${oldNodeMessage(process.version)}\n`);
  process.exit(1);
}
