import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    isCrashCampaign: boolean;
  }
}

/**
 * In the crash campaign (`npm run test:crash`) a real process is killed at every step. Otherwise gates die only around
 * steps that leave something behind, and most deaths are those of a gate in the test's process.
 */
export const isCrashCampaign = (): boolean => inject('isCrashCampaign');
