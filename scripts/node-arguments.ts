import { fileURLToPath } from 'node:url';

const keepCompiled = new URL('../bin/keep-compiled.mjs', import.meta.url).href;

/** What Node is given to run `file` quickly; the file's own arguments come behind. */
export const argumentsToRun = (file: URL): string[] => ['--import', keepCompiled, '--', fileURLToPath(file)];

/** To run the gateway as `npm start` does. */
export const gatewayArguments: readonly string[] = argumentsToRun(new URL('../src/main.ts', import.meta.url));

/** To run the command line as `npm run cli` does. */
export const cliArguments: readonly string[] = argumentsToRun(new URL('../src/cli.ts', import.meta.url));
