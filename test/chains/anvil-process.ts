import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

export interface AnvilProcess {
  pid: number;
  rpcUrl: string;
  stop: () => Promise<void>;
}

const startTimeoutMs = 60_000;
const stopTimeoutMs = 3_000;

const architectures: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };

/** The program in the package of this platform, which npm installs beside @foundry-rs/anvil. */
export const findAnvil = (
  platform: string = process.platform,
  architecture: string = process.arch,
): string => {
  const program = platform === 'win32' ? 'anvil.exe' : 'anvil';
  const name = `@foundry-rs/anvil-${platform}-${architectures[architecture] ?? architecture}`;
  try {
    const fromHere = createRequire(import.meta.url);
    const fromAnvil = createRequire(fromHere.resolve('@foundry-rs/anvil/package.json'));
    return fromAnvil.resolve(`${name}/bin/${program}`);
  } catch (error) {
    throw new Error(
      `There is no local EVM chain for ${platform}-${architecture}: the package ${name} is not installed.`,
      { cause: error },
    );
  }
};

/**
 * Kills the child when this process ends without a chance to do so: the shell reads from a pipe that only we
 * hold, so even SIGKILL ends the read.
 */
const watchOver = (child: ChildProcess): (() => void) => {
  const killAtExit = (): void => {
    child.kill('SIGKILL');
  };
  process.on('exit', killAtExit);
  if (process.platform === 'win32') return () => process.off('exit', killAtExit);
  const watcher = spawn('/bin/sh', ['-c', 'read -r _; kill -9 "$0"', String(child.pid)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Where there is no such shell, the handler above has to do.
  watcher.on('error', () => undefined);
  watcher.unref();
  return () => {
    process.off('exit', killAtExit);
    watcher.kill('SIGKILL');
  };
};

const readPort = async (child: ChildProcess): Promise<number> => {
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error('anvil was started without pipes');
  let complaint = '';
  stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-2_000);
  });
  const lines = createInterface({ input: stdout });
  const signal = AbortSignal.timeout(startTimeoutMs);
  signal.addEventListener('abort', () => lines.close(), { once: true });
  let port: string | undefined;
  for await (const line of lines) {
    port = /^Listening on .*:(\d+)$/.exec(line)?.[1];
    if (port !== undefined) break;
  }
  if (port !== undefined) {
    // The node logs every call: a pipe that nobody reads would stop it.
    stdout.resume();
    return Number(port);
  }
  throw new Error(
    signal.aborted ? `anvil was not ready within ${startTimeoutMs} ms` : `anvil ended: ${complaint}`,
  );
};

const endChild = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const impatience = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
  await exited;
  clearTimeout(impatience);
};

/** An EVM development node on a free port of loopback; it does not outlive this process. */
export const startAnvil = async ({ chainId }: { chainId: number }): Promise<AnvilProcess> => {
  const child = spawn(
    findAnvil(),
    ['--host', '127.0.0.1', '--port', '0', '--chain-id', String(chainId), '--color', 'never'],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  await once(child, 'spawn');
  const unwatch = watchOver(child);
  child.once('exit', unwatch);
  try {
    const port = await readPort(child);
    return {
      pid: child.pid ?? 0,
      rpcUrl: `http://127.0.0.1:${port}`,
      stop: () => endChild(child),
    };
  } catch (error) {
    await endChild(child);
    throw error;
  }
};
