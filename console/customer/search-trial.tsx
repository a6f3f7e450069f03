import { useState } from 'preact/hooks';
import { ApiError, toQuery } from '../api.ts';
import { Field, Problem, readFields } from '../parts/parts.tsx';
import { Table } from '../parts/table.tsx';
import { useAction, useCallId, useConsole } from '../use-console.ts';
import { CodeSamples } from './code-samples.tsx';

interface Lead {
  username: string;
  full_name?: string;
  followers?: number;
  category?: string;
  country?: string;
}

const notFromBalance =
  'This search is not charged to the balance: this gateway does not allow it, or the balance is too low. A wallet can pay for it.';

/** Searches influencers, paid from the balance. */
export const SearchTrial = () => {
  const { api } = useConsole();
  const { isBusy, problem, run } = useAction();
  const { once } = useCallId();
  const [path, setPath] = useState('/v1/search?query=coffee&limit=5');
  const [found, setFound] = useState<readonly Lead[] | null>(null);
  const search = (event: SubmitEvent): void => {
    const asked = `/v1/search${toQuery(readFields(event))}`;
    setPath(asked);
    setFound(null);
    const call = (callId: string) => api.read<{ results: Lead[] }>(asked.slice(1), { callId });
    void run(async () => {
      const { results } = await once(call, { request: asked }).catch((error: unknown) =>
        Promise.reject(
          error instanceof ApiError && error.status === 402 ? new ApiError(402, notFromBalance) : error,
        ),
      );
      setFound(results);
    });
  };
  return (
    <>
      <form class="grid" onSubmit={search}>
        <Field name="query" label="Words" value="coffee" />
        <Field name="country" label="Country" hint="US" />
        <Field name="category" label="Category" />
        <Field name="min_followers" label="Least followers" />
        <Field name="limit" label="Most results" value="5" />
        <button type="submit" class="main" disabled={isBusy}>
          Search
        </button>
      </form>
      <Problem text={problem} />
      {found !== null && (
        <section aria-live="polite">
          <Table<Lead>
            name="Influencers"
            rows={found}
            columns={[
              { title: 'Username', cell: ({ username }) => username },
              { title: 'Name', cell: ({ full_name: name }) => name ?? '', isWide: true },
              { title: 'Category', cell: ({ category }) => category ?? '', isWide: true },
              { title: 'Country', cell: ({ country }) => country ?? '', isWide: true },
              { title: 'Followers', cell: ({ followers }) => followers ?? '–', isNumber: true },
            ]}
            keyOf={({ username }) => username}
            none="Nobody was found. It cost nothing."
          />
        </section>
      )}
      <CodeSamples path={path} />
    </>
  );
};
