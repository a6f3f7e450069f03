import { defineConfig } from 'vitest/config';

// vitest reads its configuration from a default export.
// oxlint-disable-next-line import/no-default-export
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ['default'],
  },
});
