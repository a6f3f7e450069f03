import { once } from 'node:events';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { startChains, type Chains } from '../test/chains/start-chains.ts';
import { whenOrphaned } from '../src/kit/process.ts';

interface Options {
  basePort: number;
  solanaPort: number;
  /** Not named --env-file, because Node itself reads a file for that option anywhere on the command line. */
  envOut: string;
}

const warning = 'WELL-KNOWN LOCAL TEST KEYS: never send anything of value to these addresses';
/** 1,000 USDC, in its smallest unit. */
const buyerFunds = 1_000_000_000n;

const readPort = (text: string): number => {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535)
    throw new InvalidArgumentError('The port must be 0 to 65535.');
  return port;
};

const readOptions = (): Options =>
  new Command('chains')
    .description('Runs a local Base and a local Solana with USDC on both, until SIGINT or SIGTERM.')
    .option('--base-port <port>', 'port of the Base RPC; 0 takes a free one', readPort, 0)
    .option('--solana-port <port>', 'port of the Solana RPC; 0 takes a free one', readPort, 0)
    .option('--env-out <path>', 'file for the settings of the gateway', './data/chains.env')
    .parse()
    .opts<Options>();

/** Only the owner may read it. Test keys deserve the same care. */
const writeEnvFile = async (path: string, chains: Chains): Promise<void> => {
  const settings = {
    ...chains.environment,
    BUYER_EVM_PRIVATE_KEY: chains.base.buyer.privateKey,
    BUYER_SOLANA_SECRET_KEY: chains.solana.buyer.secretKeyBase58,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `# ${warning}\n${lines.join('\n')}\n`, { mode: 0o600 });
  await chmod(path, 0o600);
};

const describe = ({ base, solana, environment }: Chains, envFile: string): object => ({
  warning,
  base: {
    network: base.network,
    chainId: base.chainId,
    pid: base.pid,
    rpcUrl: base.rpcUrl,
    usdc: base.usdc,
    buyer: base.buyer,
    facilitator: base.facilitator,
    seller: base.seller,
  },
  solana: {
    network: solana.network,
    rpcUrl: solana.rpcUrl,
    usdc: solana.usdc,
    buyer: solana.buyer,
    facilitator: solana.facilitator,
    seller: solana.seller,
  },
  environment,
  envFile,
});

const run = async (options: Options): Promise<void> => {
  const orphaned = new Promise<void>((resolve) => {
    if (process.env['npm_lifecycle_event'] === 'chains') whenOrphaned(resolve);
  });
  const stopAsked = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM'), orphaned]);
  const chains = await startChains(options);
  try {
    await chains.base.mint(chains.base.buyer.address, buyerFunds);
    await chains.solana.mint(chains.solana.buyer.address, buyerFunds);
    const envFile = resolve(options.envOut);
    await writeEnvFile(envFile, chains);
    console.log(JSON.stringify(describe(chains, envFile)));
    console.error(`${warning}.`);
    console.error(`Now, in another terminal: npm start -- --env-file ${options.envOut}`);
    console.error('Ctrl+C stops both chains.');
    await stopAsked;
  } finally {
    await chains.stop();
  }
};

try {
  await run(readOptions());
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
