import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { findAnvil } from './anvil-process.ts';

/** A process that runs a chain, prints its address, and leaves without stopping it when it is told to. */
const careless = `
  const { startAnvil } = await import(${JSON.stringify(new URL('./anvil-process.ts', import.meta.url).href)});
  process.on('SIGTERM', () => process.exit(3));
  const anvil = await startAnvil({ chainId: 1 });
  console.log(anvil.rpcUrl);
`;

const isReachable = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(5_000) }).then(
    () => true,
    () => false,
  );

describe('the anvil process', () => {
  it.each([
    ['exits by itself', 'SIGTERM'],
    ['is killed', 'SIGKILL'],
  ] as const)('does not outlive a process that %s', async (_name, signal) => {
    const owner = spawn(process.execPath, ['--input-type=module', '--eval', careless], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line]: unknown[] = await once(createInterface({ input: owner.stdout }), 'line', {
      signal: AbortSignal.timeout(20_000),
    });
    const rpcUrl = String(line);
    expect(await isReachable(rpcUrl)).toBe(true);

    owner.kill(signal);
    await once(owner, 'exit');

    await expect.poll(() => isReachable(rpcUrl)).toBe(false);
  });

  it('cannot start on a platform without a package, and says which one is missing', () => {
    expect(() => findAnvil('plan9', 'mips')).toThrow(
      'There is no local EVM chain for plan9-mips: the package @foundry-rs/anvil-plan9-mips is not installed.',
    );
  });
});
