import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** The scripts of package.json that run beside the tests. `lint` finds type errors too. */
const checks = ['format:check', 'lint', 'dead-code'];

interface Ended {
  name: string;
  isGood: boolean;
  seconds: number;
  output: string;
}

const runScript = async (name: string, output: 'shown' | 'kept'): Promise<Ended> => {
  const startedMs = performance.now();
  const child = spawn('npm', ['run', '--silent', name], {
    stdio: ['ignore', output === 'shown' ? 'inherit' : 'pipe', output === 'shown' ? 'inherit' : 'pipe'],
    shell: process.platform === 'win32',
  });
  const kept: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (part: Buffer) => kept.push(part));
  const [code] = await once(child, 'close');
  return {
    name,
    isGood: code === 0,
    seconds: Math.round((performance.now() - startedMs) / 1_000),
    output: Buffer.concat(kept).toString(),
  };
};

// The tests print as they go. The checks are shown after them, and those that failed last.
const checking = Promise.all(checks.map((name) => runScript(name, 'kept')));
const tests = await runScript('test:run', 'shown');
const ended = [...(await checking), tests].toSorted((a, b) => Number(b.isGood) - Number(a.isGood));
process.stdout.write('\n');
for (const { name, isGood, seconds, output } of ended) {
  // .ci/run takes a line that begins so for a failure that no second run mends.
  const isTests = name === tests.name;
  const verdict = isGood ? ' ok   ' : isTests ? ' fail ' : ' FAIL ';
  process.stdout.write(`${verdict} ${name} (${seconds} s)\n`);
  if (!isGood) process.stdout.write(output);
}
process.exitCode = ended.every(({ isGood }) => isGood) ? 0 : 1;
