import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { gatewayArguments } from './node-arguments.ts';

/** A gateway in a separate process, started as an operator would. */
export interface GatewayProcess {
  url: string;
  /** The key that the first start printed; null on later starts. */
  apiKey: string | null;
  /** Sends SIGTERM, or another signal, and returns the exit code. */
  stop(): Promise<number | null>;
  /** Sends SIGKILL and resolves when the process has ended. */
  kill(): Promise<void>;
  pid: number;
}

const startTimeoutMs = 60_000;
const stopTimeoutMs = 60_000;

/**
 * Starts the gateway on a free port and reads its address and first key from its output. `through` is a command that
 * runs its arguments in its own process.
 */
export const startGatewayProcess = async (
  environment: Record<string, string>,
  through: readonly string[] = [],
): Promise<GatewayProcess> => {
  const [command = process.execPath, ...words] = [...through, process.execPath, ...gatewayArguments];
  const child = spawn(command, words, {
    env: { PATH: process.env['PATH'], PORT: '0', LOG_LEVEL: 'warn', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const killWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithUs);

  const exited = once(child, 'exit');
  const readStart = async (): Promise<{ url: string; apiKey: string | null }> => {
    let url: string | undefined;
    let apiKey: string | null = null;
    for await (const line of createInterface({ input: child.stdout })) {
      url ??= /listening on (http:\/\/\S+)/.exec(line)?.[1];
      apiKey ??= /\b(sk_[a-z]+_[0-9A-Za-z]{43})\b/.exec(line)?.[1] ?? null;
      // The last line that a start prints.
      if (url !== undefined && line.startsWith('Stop it with')) return { url, apiKey };
    }
    throw new Error('the gateway ended before it listened');
  };
  const timer = setTimeout(killWithUs, startTimeoutMs);
  const { url, apiKey } = await readStart().finally(() => clearTimeout(timer));
  child.stdout.resume();

  const end = async (signal: NodeJS.Signals): Promise<void> => {
    process.removeListener('exit', killWithUs);
    child.kill(signal);
    const timeout = setTimeout(killWithUs, stopTimeoutMs);
    await exited;
    clearTimeout(timeout);
  };
  return {
    url,
    apiKey,
    pid: child.pid ?? 0,
    stop: async () => {
      await end('SIGTERM');
      return child.exitCode;
    },
    kill: () => end('SIGKILL'),
  };
};
