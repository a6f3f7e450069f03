import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cliArguments } from '../node-arguments.ts';

/** The settings of the demo's gateway, which its operator's commands have too. */
export const placeOf = (folder: string) => ({
  DATA_DIR: join(folder, 'data'),
  CAUSEWAY_CONFIG: join(folder, 'causeway.yaml'),
});

/** Runs a command of the operator beside the gateway, and returns the document that it prints. */
export const operate = async (folder: string, ...words: string[]): Promise<unknown> => {
  const { stdout } = await promisify(execFile)(process.execPath, [...cliArguments, ...words, '--json'], {
    env: { PATH: process.env['PATH'], ...placeOf(folder) },
    timeout: 30_000,
  });
  return JSON.parse(stdout);
};
