// Shows facts about the selected block or op, or about the whole graph if nothing is selected. The name of an
// op is a link that selects the op.
#pragma once

#include <QTextBrowser>

#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class DetailsPanel : public QTextBrowser {
    Q_OBJECT
  public:
    explicit DetailsPanel(Session& session);

  private:
    void refresh();
    void follow(const QUrl& link);

    Session& session_;
};

/// Returns the panel's content as HTML. The content is about the selected block or op; about the graph if the
/// selection is empty.
QString details_html(const LoadedGraph& graph, const LoadedSchedule* schedule, const Selected& selected);

}  // namespace rematlas::explorer
