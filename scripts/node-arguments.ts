import { fileURLToPath } from 'node:url';

const keepCompiled = new URL('../bin/keep-compiled.mjs', import.meta.url).href;

/** Returns the Node arguments to run `file` quickly. The file's own arguments follow them. */
export const argumentsToRun = (file: URL): string[] => ['--import', keepCompiled, '--', fileURLToPath(file)];

/** Runs the gateway as `npm start` does. */
export const gatewayArguments: readonly string[] = argumentsToRun(new URL('../src/main.ts', import.meta.url));

/** Runs the command line as `npm run cli` does. */
export const cliArguments: readonly string[] = argumentsToRun(new URL('../src/cli.ts', import.meta.url));
