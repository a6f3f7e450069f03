import { startBaseChain, type BaseChain } from '../test/chains/base-chain.ts';
import { pinClient } from './gateway/cores.ts';
import { withBench, type Bench } from './gateway/bench.ts';
import { measureGrowth } from './gateway/measure-growth.ts';
import { measureLedger } from './gateway/measure-ledger.ts';
import { measureMemory } from './gateway/measure-memory.ts';
import { measurePaid } from './gateway/measure-paid.ts';
import { measureReplicas } from './gateway/measure-replicas.ts';
import { measureStart } from './gateway/measure-start.ts';
import { measureTelemetry } from './gateway/measure-telemetry.ts';
import { readOptions, type SectionName } from './gateway/options.ts';
import { renderSection, saveResults, type Section } from './gateway/results.ts';
import { checkCharges, runWorks } from './gateway/run-works.ts';
import { describeMachine } from './leads/measure/machine.ts';

/* Measures the gateway beside its limits; bench/README.md describes it. */
const options = readOptions();
const say = (text: string): void => {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)}  ${text}\n`);
};

// The end of this process ends those that it started.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const measured = new Map<SectionName, Section>();
const measure = async (name: SectionName, run: () => Promise<Section>): Promise<void> => {
  if (!options.sections.includes(name)) return;
  say(`-- ${name}`);
  const section = await run();
  measured.set(name, section);
  process.stdout.write(`${renderSection(name, section)}\n\n`);
};

const requestSections: readonly SectionName[] = [
  'chat',
  'responses',
  'mcp',
  'rest',
  'paid',
  'telemetry',
  'start',
];
const measureRequests = async (bench: Bench, chain: BaseChain): Promise<void> => {
  for (const name of ['chat', 'responses', 'mcp', 'rest'] as const)
    await measure(name, () => runWorks(bench, name));
  say(checkCharges(bench));
  await measure('paid', () => measurePaid(bench, chain));
  await measure('telemetry', () => measureTelemetry(bench));
  // It stops the gateway.
  await measure('start', () => measureStart(bench, chain));
};

const machine = describeMachine();
// The store may use all cores.
await measure('jobs', () => measureLedger({ ...options, say }));
if (!pinClient()) say('Nothing is pinned to a core: there is no taskset, or only one core.');
const chain = await startBaseChain();
try {
  // In the smallest unit of USDC: more than all searches cost.
  await chain.mint(chain.buyer.address, 1_000_000_000n);
  const environment = {
    X402_NETWORKS: chain.network,
    X402_EVM_PAY_TO: chain.seller.address,
    X402_EVM_RPC_URL: chain.rpcUrl,
    X402_EVM_FACILITATOR_KEY: chain.facilitator.privateKey,
  };
  const shared = { ...options, say, environment };
  await measure('memory', () => measureMemory(shared));
  if (options.sections.some((name) => requestSections.includes(name)))
    await withBench(shared, (bench) => measureRequests(bench, chain));
  await measure('growth', () => measureGrowth(shared));
  await measure('replicas', () => measureReplicas(shared));
} finally {
  await chain.stop();
}
if (options.saveAs !== null) await saveResults(options.saveAs, { measured, machine, note: options.note });
