import { vi } from 'vitest';
import type { ContractOptions } from '../../scripts/contract/run-contract.ts';
import { startChains } from '../chains/start-chains.ts';
import { startTestGateway, whenSearchReady } from '../e2e/start-test-gateway.ts';
import { openAccount } from '../mcp/open-account.ts';

export interface ContractGateway {
  /** What the suite is told, with nothing left out. */
  options: ContractOptions;
  stop(): Promise<void>;
}

/** Of the calls that wait: long enough for every ordinary answer of a busy machine. The suite lets jobs take longer. */
const deadlineSeconds = 10;

/** The whole gateway with sandbox models, local chains and three accounts: rich, another, and poor. */
export const startContractGateway = async (): Promise<ContractGateway> => {
  const chains = await startChains();
  const gateway = await startTestGateway({
    environment: {
      ...chains.environment,
      ALLOW_LOOPBACK_URLS: 'true',
      CHAT_DEADLINE_MS: String(deadlineSeconds * 1000),
      IMAGE_DEADLINE_MS: String(deadlineSeconds * 1000),
      REQUESTS_PER_MINUTE: '100000',
    },
  });
  await whenSearchReady(gateway);
  await whenPayable(gateway.url);
  const other = await openAccount(gateway.services);
  const poor = await openAccount(gateway.services, { amount: 0n });
  return {
    options: {
      baseUrl: gateway.url,
      apiKey: gateway.apiKey,
      otherKey: other.apiKey,
      poorKey: poor.apiKey,
      sandbox: true,
      video: true,
      deadlineSeconds,
      rateLimit: true,
      only: null,
      allowSpendUsd: '2.00',
      webhook: { host: '127.0.0.1', port: 0, publicUrl: null },
      checksAtOnce: 8,
      requestsPerSecond: 1000,
      callTimeoutMs: 60_000,
      checkTimeoutMs: 150_000,
      runTimeoutMs: 300_000,
      jobTimeoutMs: 120_000,
    },
    stop: async () => {
      await gateway.stop();
      await chains.stop();
    },
  };
};

/** Waits until both chains are offered. */
const whenPayable = async (url: string): Promise<void> => {
  const isPayable = async (): Promise<boolean> => {
    const readiness = (await (await fetch(`${url}/health/ready`)).json()) as {
      payments: { ready: boolean }[];
    };
    return readiness.payments.every(({ ready }) => ready);
  };
  await vi.waitUntil(isPayable, { timeout: 60_000, interval: 100 });
};
