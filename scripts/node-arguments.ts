import { fileURLToPath } from 'node:url';

const keepCompiled = new URL('../bin/keep-compiled.mjs', import.meta.url).href;

/** Returns the Node arguments to run `file` quickly. The file's own arguments follow them. */
export const argumentsToRun = (file: URL): string[] => ['--import', keepCompiled, '--', fileURLToPath(file)];

/** `GATEWAY_LAUNCHER` names the launcher of another installation, such as that of the npm package. */
const launcher =
  process.env['GATEWAY_LAUNCHER'] ?? fileURLToPath(new URL('../bin/causeway.mjs', import.meta.url));

/** Runs the command line as `npm run cli` does. */
export const cliArguments: readonly string[] = ['--', launcher];

/** Runs the gateway as `npm start` does. */
export const gatewayArguments: readonly string[] = [...cliArguments, 'start'];
