import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { systemPlaces, type MountConfig, type MountTarget, type Sandbox } from './mount-settings.ts';

const networkPlaces = ['/etc/resolv.conf', '/etc/hosts', '/etc/nsswitch.conf'];
/** The folder for temporary files lies in memory. */
const temporaryBytes = 256 * 1024 ** 2;
/** Memory, cores and open files of one process; processes and threads of the whole sandbox. */
const limits = ['--data=1073741824', '--core=0', '--nofile=1024', '--nproc=256'];
const trialMs = 5_000;

type Program = Extract<MountTarget, { kind: 'stdio' }>;

/** Returns what the sandbox of a program lacks on this machine; null: nothing. */
const findSandboxProblem = ({ sandbox, env }: Pick<Program, 'sandbox' | 'env'>): string | null => {
  const isThere = (name: string): boolean =>
    (env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, name)));
  const missing = sandbox === null ? [] : ['bwrap', 'prlimit'].filter((name) => !isThere(name));
  return missing.length === 0
    ? null
    : `its sandbox needs ${missing.join(' and ')} on the PATH: install the packages bubblewrap and util-linux`;
};

/** Returns a sentence for the operator: a server without a sandbox, or one that lacks it here. Null: there is nothing to say. */
export const describeSandbox = ({ name, target }: Pick<MountConfig, 'name' | 'target'>): string | null => {
  if (target.kind !== 'stdio') return null;
  if (target.sandbox === null)
    return `The mounted MCP server ${name} runs without a sandbox: it can read what the gateway can, such as its keys and its store.`;
  const problem = findSandboxProblem(target);
  return problem && `The mounted MCP server ${name} does not start: ${problem}.`;
};

/**
 * Returns the command that runs a program in its sandbox, and that ends with the gateway where the system can do that.
 * Rejects if there is no sandbox.
 */
export const toGuardedCommand = async (program: Program): Promise<string[]> => {
  const { command, args, sandbox, env } = program;
  const problem = findSandboxProblem(program);
  if (problem !== null) throw new Error(problem);
  const own = [command, ...args];
  if (sandbox !== null) return [...toSandbox(sandbox), ...own];
  return (await canEndWithUs(env['PATH'] ?? '')) ? [...ending, ...own] : own;
};

const ending = ['setpriv', '--pdeathsig', 'KILL', '--'] as const;
/** Whether setpriv can do it, by PATH. All programs have that of the gateway. */
const trials = new Map<string, Promise<boolean>>();

/** BusyBox has a setpriv that cannot do it. A trial that takes too long is made again at the next start. */
const canEndWithUs = (path: string): Promise<boolean> => {
  const known = trials.get(path);
  if (known !== undefined) return known;
  const [setpriv, ...args] = ending;
  const trial = promisify(execFile)(setpriv, [...args, 'true'], {
    env: { PATH: path },
    timeout: trialMs,
  }).then(
    () => true,
    ({ killed }: { killed?: boolean }) => {
      if (killed === true) trials.delete(path);
      return false;
    },
  );
  trials.set(path, trial);
  return trial;
};

/** The environment is that of bwrap itself, because others can read the words of a command. */
const toSandbox = ({ read, write, network }: Sandbox): string[] => [
  'bwrap',
  ...['--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
  ...[...systemPlaces, ...(network ? networkPlaces : [])].flatMap((path) => ['--ro-bind-try', path, path]),
  // The system's own settings are root's to write, and so those of a gateway that runs as root.
  ...['--proc', '/proc', '--ro-bind', '/proc/sys', '/proc/sys', '--dev', '/dev'],
  ...['--size', String(temporaryBytes), '--tmpfs', '/tmp'],
  ...read.flatMap((path) => ['--ro-bind', path, path]),
  ...write.flatMap((path) => ['--bind', path, path]),
  // These two lie in memory, without a bound.
  ...['--remount-ro', '/dev', '--remount-ro', '/'],
  ...(network ? ['--share-net'] : []),
  ...['--setenv', 'HOME', '/tmp', '--chdir', '/tmp', '--', 'prlimit', ...limits, '--'],
];
