import { Filters } from '../parts/filters.tsx';
import { Field, Moment, State, Title } from '../parts/parts.tsx';
import { PagedTable } from '../parts/table.tsx';
import { usePlace } from '../router.tsx';

interface Change {
  id: string;
  at: string;
  actor: string;
  actor_label: string | null;
  operation: string;
  input: object;
  outcome: string;
  error: string | null;
}

export const Audit = () => {
  const { query } = usePlace();
  const filters = { operation: query.get('operation') ?? '', actor: query.get('actor') ?? '' };
  return (
    <>
      <Title>Audit log</Title>
      <Filters key={query.toString()}>
        <Field name="operation" label="Operation" value={filters.operation} hint="credit_account" />
        <Field name="actor" label="Actor" value={filters.actor} hint="cli:root" />
      </Filters>
      <PagedTable<Change>
        name="Audit log"
        path="admin/v1/audit"
        member="changes"
        filters={filters}
        columns={[
          { title: 'Time', cell: ({ at }) => <Moment at={at} /> },
          {
            title: 'Who',
            cell: ({ actor, actor_label: label }) => <span title={actor}>{label ?? actor}</span>,
          },
          { title: 'Operation', cell: ({ operation }) => operation },
          { title: 'Outcome', cell: ({ outcome, error }) => <State name={error ?? outcome} />, isWide: true },
          { title: 'Input', cell: ({ input }) => <code>{JSON.stringify(input)}</code>, isWide: true },
        ]}
        keyOf={({ id }) => id}
        none="There are no such changes."
      />
    </>
  );
};
